package flipt_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
)

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for name, o := range map[string]flipt.Options{
		"no URL":              {},
		"no scheme":           {URL: "flipt:8080"},
		"another scheme":      {URL: "grpc://flipt:9000"},
		"no host":             {URL: "http:///flipt"},
		"a query":             {URL: "http://flipt:8080?x=1"},
		"no URL at all":       {URL: "http://[::1"},
		"a negative timeout":  {URL: "http://flipt:8080", Timeout: -time.Second},
		"a negative deadline": {URL: "http://flipt:8080", Deadline: -time.Second},
	} {
		if _, err := flipt.Open(t.Context(), o); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

func TestAURLMayEndInASlash(t *testing.T) {
	b := standIn(t, flipttest.V2)
	key, now := b.flagAt(t, 10)
	store := openStore(t, flipt.Options{URL: b.hand.URL + "/", Token: b.hand.Token})
	if found, err := store.Read(t.Context(), key); err != nil || found != now {
		t.Errorf("got %+v, %v", found, err)
	}
}

func TestAnIncompleteKeyIsRefused(t *testing.T) {
	b := standIn(t, flipttest.V1)
	for _, key := range []flags.Key{{}, {Namespace: "default"}, {Name: "orders-db-reads"}} {
		_, read := b.store.Read(t.Context(), key)
		_, written := b.store.Write(t.Context(), key, flags.Change{Kind: flags.Lower, Rollout: rollout})
		for _, err := range []error{read, written, b.store.Create(t.Context(), key)} {
			if err == nil || !strings.Contains(err.Error(), "neither may be empty") {
				t.Errorf("%v: got error %v", key, err)
			}
		}
	}
}

func TestAKeyWithASlashStaysOneKey(t *testing.T) {
	onStandIns(t, func(t *testing.T, b bench) {
		key := flags.Key{Namespace: "default", Name: "orders/db?x=%2F"}
		if err := b.store.Create(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if next := b.raise(t, key, 25); next.Share != 25 {
			t.Errorf("got %+v", next)
		}
		_, err := b.store.Read(t.Context(), flags.Key{Namespace: "default", Name: "orders"})
		wantError(t, err, flags.ErrNotFound)
	})
}

func TestCreateMakesWhatIsMissingAndNothingElse(t *testing.T) {
	onServers(t, func(t *testing.T, b bench) {
		namespace, create := b.space(t)
		first := flags.Key{Namespace: namespace, Name: "first"}
		_, err := b.store.Read(t.Context(), first)
		wantError(t, err, flags.ErrNotFound)
		create(t, first)
		raised := b.raise(t, first, 25)
		if err := b.store.Create(t.Context(), first); err != nil {
			t.Error(err)
		}
		create(t, flags.Key{Namespace: namespace, Name: "second"})
		if now := b.read(t, first); now != raised {
			t.Errorf("created again, %+v has become %+v", raised, now)
		}
	}, flipttest.V1, flipttest.V2)
}

func TestAnotherEnvironmentIsAnotherPlace(t *testing.T) {
	b := standIn(t, flipttest.V2)
	key, _ := b.flagAt(t, 10)
	store := openStore(t, flipt.Options{URL: b.hand.URL, Token: b.hand.Token, Environment: "production"})
	_, err := store.Read(t.Context(), key)
	wantError(t, err, flags.ErrNotFound)
}

func TestWhatIsNotFliptIsToldSo(t *testing.T) {
	b := standIn(t, flipttest.V1)
	b.stand.Before(func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(w, "<html>welcome</html>")
		return true
	})
	store := openStore(t, flipt.Options{URL: b.hand.URL})
	_, err := store.Read(t.Context(), flags.Key{Namespace: "default", Name: "orders-db-reads"})
	if err == nil || !strings.Contains(err.Error(), "neither as Flipt v1 nor as v2") {
		t.Errorf("got error %v", err)
	}
}

func TestATokenThatMayNotListNamespacesStillReadsItsOwn(t *testing.T) {
	b := standIn(t, flipttest.V1)
	key, now := b.flagAt(t, 10)
	b.stand.Before(func(w http.ResponseWriter, r *http.Request) bool {
		forbidden := r.URL.Path == "/api/v1/namespaces"
		if forbidden {
			w.WriteHeader(http.StatusForbidden)
		}
		return forbidden
	})
	store := openStore(t, flipt.Options{URL: b.hand.URL, Token: b.hand.Token})
	if found, err := store.Read(t.Context(), key); err != nil || found != now {
		t.Errorf("got %+v, %v", found, err)
	}
}
