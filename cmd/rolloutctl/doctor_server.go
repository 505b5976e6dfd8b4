package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/seed-c8cbbb61/cutover/web/client"
)

// What is told before it hurts.
const (
	clockApart = 5 * time.Second
	soonOver   = 14 * 24 * time.Hour // a token, a certificate
	lateAfter  = 30 * time.Second    // a look of the controller
)

// configuration looks at this machine.
func (e *examination) configuration() {
	path, err := profilesFile()
	if err != nil {
		e.add(odd("configuration", "set HOME or XDG_CONFIG_HOME", "%v", err))
		return
	}
	saved, err := readProfiles()
	info, statErr := os.Stat(path)
	switch {
	case err != nil:
		fix := "mend or remove " + path + ", then rolloutctl login"
		if usage, ok := errors.AsType[usageError](err); ok && usage.next != "" {
			fix = usage.next
		}
		e.add(bad("configuration", fix, "%v", err))
	case errors.Is(statErr, fs.ErrNotExist):
		e.add(well("configuration", "no profile is stored; %s is not there", path))
	case statErr == nil:
		e.add(well("configuration", "%s, mode %04o, %s", path, info.Mode().Perm(), count(len(saved.Profiles), "profile", "profiles")))
	}
}

// server looks at the server, as far as one gets.
func (e *examination) server(ctx context.Context) {
	to, err := e.session.server()
	switch {
	case err != nil:
		e.add(bad("token", "rolloutctl login --url URL, or put the token into ROLLOUT_TOKEN_FILE", "%v", err))
		return
	case to.token == "":
		e.add(bad("token", "rolloutctl login --url "+to.URL+", or put it into a file and its name into ROLLOUT_TOKEN_FILE", "there is none"))
	default:
		e.add(e.tokenFound(to))
	}
	if err := e.connect(); err != nil {
		e.add(bad("server", "--url or ROLLOUT_URL must be a URL such as https://rollouts.example", "%v", err))
		return
	}
	if !e.reach(ctx, to.URL) {
		e.unseen("the server does not answer", "rights", "version", "journal", "controller", "metrics", "flag store")
		return
	}
	if to.token == "" {
		e.unseen("there is no token", "rights", "version", "journal", "controller", "metrics", "flag store")
		return
	}
	who, err := e.api.Whoami(ctx)
	if err != nil {
		e.add(bad("rights", "rolloutctl login --url "+to.URL+" with a good token", "%v", err))
		e.unseen("the server does not let us look", "version", "journal", "controller", "metrics", "flag store")
		return
	}
	e.add(e.rights(&who.Token), e.versions(ctx))
	e.rollouts(ctx)
}

// tokenFound says where the token is from, and who else can read it.
func (e *examination) tokenFound(to server) diagnosis {
	if info, err := os.Stat(to.from); err == nil && info.Mode().Perm()&0o077 != 0 {
		return odd("token", "chmod 600 "+quoted(to.from), "found in %s, which others may read (mode %04o)", to.from, info.Mode().Perm())
	}
	return well("token", "found in %s", to.from)
}

// reach asks the server whether it serves, and looks at the way there.
func (e *examination) reach(ctx context.Context, base string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/v1/healthz", nil)
	if err != nil {
		e.add(bad("server", "mend the URL", "%v", err))
		return false
	}
	began := time.Now()
	resp, err := (&http.Client{Transport: e.way()}).Do(r)
	took := time.Since(began)
	if err != nil {
		e.away = true
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		e.add(bad("server", "is it up, is its URL right, and is there a way from here? Flags stay as they are; traffic goes back with break-glass", "no answer from %s: %v", base, err))
		return false
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		e.away = resp.StatusCode >= http.StatusInternalServerError
		e.add(bad("server", "is that a Cutover server, and not a proxy before it?", "%s answered %s", base, resp.Status))
		return false
	}
	e.add(well("server", "%s answers in %v", base, took.Round(time.Millisecond)), e.secrecy(r.URL, resp.TLS), e.clocks(resp.Header.Get("Date"), began.Add(took/2)))
	return true
}

// secrecy says whether others can read what goes to the server: a token does.
func (e *examination) secrecy(to *url.URL, state *tls.ConnectionState) diagnosis {
	host := to.Hostname()
	ip := net.ParseIP(host)
	switch {
	case state != nil && len(state.PeerCertificates) > 0:
		until := state.PeerCertificates[0].NotAfter
		if left := until.Sub(e.now()); left < soonOver {
			return odd("tls", "renew the server's certificate", "the certificate of %s ends %s, in %s", host, moment(until, e.now(), e.zone), span(left))
		}
		return well("tls", "%s, certificate good until %s", tls.VersionName(state.Version), moment(until, e.now(), e.zone))
	case host == "localhost" || ip != nil && ip.IsLoopback():
		return well("tls", "none, and none is needed: %s is this machine", host)
	default:
		return odd("tls", "put a proxy with TLS before the server, and use its https URL", "none: who is between here and %s can read the token", host)
	}
}

// clocks compares the server's clock with ours. Its date has whole seconds.
func (e *examination) clocks(date string, ours time.Time) diagnosis {
	theirs, err := http.ParseTime(date)
	if err != nil {
		return diagnosis{Name: "clock", Result: isUnseen, Why: "the server does not say what time it is"}
	}
	apart := theirs.Add(time.Second / 2).Sub(ours)
	if apart.Abs() <= clockApart {
		return well("clock", "that of the server and ours are less than %s apart", span(clockApart))
	}
	direction := "ahead of"
	if apart < 0 {
		direction = "behind"
	}
	return odd("clock", "is time synchronised here, and there? Bakes and expiries go by the server's clock", "the server's is %s %s ours", span(apart.Abs().Truncate(time.Second)), direction)
}

// rights says who we are to the server.
func (e *examination) rights(who *client.Token) diagnosis {
	says := fmt.Sprintf("%s: %s; expires: %s", who.Name, mayWords(who), e.expiry(who.Expires))
	if !who.Expires.IsZero() && who.Expires.Sub(e.now()) < soonOver {
		return odd("rights", "have an admin make another: rolloutctl token make", "%s", says)
	}
	return well("rights", "%s", says)
}

// versions compares the two programs.
func (e *examination) versions(ctx context.Context) diagnosis {
	theirs, err := e.api.Version(ctx)
	switch {
	case err != nil:
		return bad("version", "ask again", "%v", err)
	case theirs != version():
		return odd("version", "take the rolloutctl of the server's release", "rolloutctl is %s, the server %s", version(), theirs)
	default:
		return well("version", "%s, both", theirs)
	}
}
