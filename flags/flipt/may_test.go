package flipt_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
	"github.com/seed-c8cbbb61/cutover/flags/flipt/flipttest"
)

func TestWhetherATokenMayWriteIsFoundOutWithoutAWrite(t *testing.T) {
	onServers(t, func(t *testing.T, b bench) {
		key, now := b.flagAt(t, 10)
		before := len(b.list(t, key.Namespace))
		if err := b.store.MayWrite(t.Context(), key); err != nil {
			t.Error(err)
		}
		if after := b.read(t, key); after != now {
			t.Errorf("trying made %+v of %+v", after, now)
		}
		if after := len(b.list(t, key.Namespace)); after != before {
			t.Errorf("trying made %d flags of %d", after, before)
		}
	}, flipttest.V1, flipttest.V2)
}

func TestATokenThatMayNotWriteIsToldWhatItLacks(t *testing.T) {
	onStandIns(t, func(t *testing.T, b bench) {
		key, _ := b.flagAt(t, 10)
		for part, permission := range map[string]string{
			"/flags/": "update flags", "/rollouts/": "update rollouts", "/resources": "update flags",
		} {
			if (b.hand.Version == flipttest.V2) != (part == "/resources") {
				continue
			}
			b.stand.Before(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, part) {
					return false
				}
				w.WriteHeader(http.StatusForbidden)
				return true
			})
			if err := b.store.MayWrite(t.Context(), key); err == nil || !strings.Contains(err.Error(), "permission to "+permission) {
				t.Errorf("with %s forbidden: got error %v", part, err)
			}
		}
	})
}

func TestWhatIsServedIsVerifiedWithoutAWrite(t *testing.T) {
	onStandIns(t, func(t *testing.T, b bench) {
		key, _ := b.flagAt(t, 10)
		if err := b.store.Verify(t.Context(), key); err != nil {
			t.Error(err)
		}
		b.stand.CacheEvaluations(1000)
		b.stand.PutShare(key, 50)
		wantError(t, b.store.Verify(t.Context(), key), flipt.ErrNotServed)
		missing := flags.Key{Namespace: key.Namespace, Name: "missing"}
		wantError(t, b.store.Verify(t.Context(), missing), flags.ErrNotFound)
		generation, err := b.store.Generation(t.Context())
		if err != nil || generation != int(b.hand.Version) {
			t.Errorf("it is taken for v%d, %v", generation, err)
		}
	})
}
