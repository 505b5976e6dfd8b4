package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/web/client"
)

// examined is an examination at noon.
func examined() *examination {
	return &examination{session: &session{zone: time.UTC, clock: &clock{date: noon, heard: time.Now()}}}
}

// differs compares diagnoses.
func differs(t *testing.T, want, got []diagnosis) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatGoesToTheServerIsSecretOrSaidNotToBe(t *testing.T) {
	until := func(d time.Duration) *tls.ConnectionState {
		return &tls.ConnectionState{Version: tls.VersionTLS13, PeerCertificates: []*x509.Certificate{{NotAfter: noon.Add(d)}}}
	}
	for name, tt := range map[string]struct {
		url   string
		state *tls.ConnectionState
		want  diagnosis
	}{
		"this machine":     {"http://localhost:8080", nil, diagnosis{"tls", "ok", "none, and none is needed: localhost is this machine", ""}},
		"the loopback":     {"http://[::1]:8080", nil, diagnosis{"tls", "ok", "none, and none is needed: ::1 is this machine", ""}},
		"another machine":  {"http://rollouts.example", nil, diagnosis{"tls", "warn", "none: who is between here and rollouts.example can read the token", "put a proxy with TLS before the server, and use its https URL"}},
		"a certificate":    {"https://rollouts.example", until(90 * day), diagnosis{"tls", "ok", "TLS 1.3, certificate good until 2027-02-28 03:16:30 UTC", ""}},
		"one that ends":    {"https://rollouts.example", until(3*day + time.Hour/2), diagnosis{"tls", "warn", "the certificate of rollouts.example ends 2026-12-03 03:46:30 UTC, in 3d", "renew the server's certificate"}},
		"a name like ours": {"http://localhost.example", nil, diagnosis{"tls", "warn", "none: who is between here and localhost.example can read the token", "put a proxy with TLS before the server, and use its https URL"}},
	} {
		t.Run(name, func(t *testing.T) {
			to, err := url.Parse(tt.url)
			if err != nil {
				t.Fatal(err)
			}
			differs(t, []diagnosis{tt.want}, []diagnosis{examined().secrecy(to, tt.state)})
		})
	}
}

func TestClocksThatAreFiveSecondsApartAreSaid(t *testing.T) {
	for apart, want := range map[time.Duration]string{
		0: "ok", 4 * time.Second: "ok", -4 * time.Second: "ok", 6 * time.Second: "warn", -6 * time.Second: "warn", -time.Hour: "warn",
	} {
		if got := examined().clocks(noon.Add(apart).Format(http.TimeFormat), noon); got.Result != want {
			t.Errorf("%v apart: %+v, want %s", apart, got, want)
		}
	}
	if got := examined().clocks("", noon); got.Result != isUnseen {
		t.Errorf("without a date: %+v", got)
	}
}

func TestATokenThatEndsSoonIsSaid(t *testing.T) {
	for expires, want := range map[time.Time]string{
		{}: "ok", noon.Add(15 * day): "ok", noon.Add(13 * day): "warn", noon.Add(time.Minute): "warn",
	} {
		if got := examined().rights(&client.Token{Name: "ann", Expires: expires}); got.Result != want {
			t.Errorf("until %v: %+v, want %s", expires, got, want)
		}
	}
}

func TestAControllerThatLooksNoMoreIsSaid(t *testing.T) {
	status := func(looked, next time.Time) rollout.Status {
		return rollout.Status{State: rollout.State{Name: "orders-db"}, Looked: looked, Next: next}
	}
	good := status(ago(time.Second), noon)
	for name, tt := range map[string]struct {
		seen []rollout.Status
		want diagnosis
	}{
		"it looks": {[]rollout.Status{good, good}, diagnosis{"controller", "ok", "it looks at 2 rollouts", ""}},
		"never":    {[]rollout.Status{good, status(time.Time{}, time.Time{})}, diagnosis{"controller", "fail", "nobody has looked at orders-db yet", "does rolloutd run, and does it lead? See its log"}},
		"too late": {[]rollout.Status{status(ago(time.Minute), ago(40*time.Second))}, diagnosis{"controller", "fail", "the look at orders-db is late by 40s", "does rolloutd run? See its log"}},
	} {
		t.Run(name, func(t *testing.T) {
			differs(t, []diagnosis{tt.want}, []diagnosis{examined().controller(tt.seen)})
		})
	}
}

func TestAFlagThatTheServerCannotUseIsSaidOnce(t *testing.T) {
	status := at(rollout.Held, 25)
	differs(t, []diagnosis{{"flag store", "ok", "the server reads and writes 2 flags", ""}}, examined().flagStore([]rollout.Status{*status}))
	status.Lanes[1].Unread = "flag default/orders-db-writes: timeout"
	status.Waits = []rollout.Wait{
		{Kind: rollout.WaitFlag, Subject: "writes", Why: "flag default/orders-db-writes: timeout"},
		{Kind: rollout.WaitFlag, Subject: "reads", Why: "the write was refused: 403"},
	}
	differs(t, []diagnosis{
		{"flag store", "fail", "orders-db, writes: flag default/orders-db-writes: timeout", "is it up, and may rolloutd's token read that flag? --flipt URL looks from here"},
		{"flag store", "fail", "orders-db, reads: the write was refused: 403", "may rolloutd's token write that flag? --flipt URL looks from here"},
	}, examined().flagStore([]rollout.Status{*status}))
}

func TestAJournalThatIsAwayNamesTheGrantThatIsMissing(t *testing.T) {
	status := rollout.Status{Away: "appending: Error 1142 (42000): INSERT command denied to user 'cutover'@'10.0.0.7' for table `rollouts`.`events`"}
	differs(t, []diagnosis{{
		"journal", "fail", status.Away, "run on it: GRANT INSERT ON `rollouts`.* TO 'cutover'@'10.0.0.7'; -- at the host that the account has",
	}}, []diagnosis{examined().journal([]rollout.Status{status}, 1)})
	status.Away = "dial tcp: connection refused"
	differs(t, []diagnosis{{
		"journal", "fail", status.Away, "is its database up? Nothing rises meanwhile; rollback is obeyed",
	}}, []diagnosis{examined().journal([]rollout.Status{status}, 1)})
}

func TestAMetricThatCannotBeReadSaysWhatLetsItBeRead(t *testing.T) {
	const denied = "cloudwatch:GetMetricData is refused: AccessDenied: User: arn:aws:iam::123456789012:user/rolloutd is not authorized to perform: cloudwatch:GetMetricData"
	for name, tt := range map[string]struct {
		cause      gates.Cause
		why, where string
		want       string
	}{
		"forbidden": {gates.Forbidden, denied, "", `allow {"Effect": "Allow", "Action": "cloudwatch:GetMetricData", "Resource": "*"} to arn:aws:iam::123456789012:user/rolloutd`},
		"forbidden elsewhere": {
			gates.Forbidden, "cloudwatch:GetMetricData is refused for this metric", "999988887777 eu-west-1",
			`allow {"Effect": "Allow", "Action": "cloudwatch:GetMetricData", "Resource": "*"} to the role that rolloutd runs as; the plan reads 999988887777 eu-west-1, another account needs rolloutd --cross-account`,
		},
		"throttled": {gates.Throttled, "", "", "ask less often (rolloutd --read-every), or raise the quota of cloudwatch:GetMetricData for the account"},
		"config":    {gates.Config, "", "", "mend the gate in the plan: rolloutctl plan amend"},
		"error":     {gates.Failed, "", "", "can rolloutd reach the source of these metrics? See its log"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := metricFix(tt.cause, tt.why, tt.where); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestAnErrorOfTheJournalsDatabaseIsTurnedIntoAGrant(t *testing.T) {
	for why, want := range map[string]string{
		"Error 1142 (42000): SELECT, INSERT command denied to user 'c'@'h' for table `j`.`events`": "GRANT SELECT, INSERT ON `j`.* TO 'c'@'h'; -- at the host that the account has",
		"Error 1142 (42000): DELETE command denied to user 'c'@'h' for table 'claims'":             "GRANT DELETE ON `DATABASE`.* TO 'c'@'h'; -- at the host that the account has",
		"Error 1044 (42000): Access denied for user 'c'@'h' to database 'j'":                       "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON `j`.* TO 'c'@'h'; -- at the host that the account has",
		"Error 1045 (28000): Access denied for user 'c'@'h' (using password: YES)":                 "",
		"driver: bad connection": "",
	} {
		if got := missingGrant(why); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", why, got, want)
		}
	}
}
