package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

func FuzzQuery(f *testing.F) {
	f.Add("state=held,baking&database=orders&owner=ann&after=a&limit=5&while=30m")
	f.Add("state=held&state=baking")
	f.Add("limit=0&while=-1h&after=")
	f.Add("state=,&limit=1e3&while=9223372036854775807ns&owner=%00")
	f.Fuzz(func(t *testing.T, raw string) {
		query, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		check := func(err error) bool {
			if err == nil {
				return true
			}
			if p := status(err); p.Status != http.StatusBadRequest || p.Detail == "" || len(p.Problems) != 1 {
				t.Errorf("%q: %d %q", raw, p.Status, p.Detail)
			}
			return false
		}
		if err := queries(query, "state", "database", "owner", "after", "limit", "while"); check(err) {
			for name, values := range query {
				if len(values) > 1 {
					t.Errorf("%q: %s is there twice", raw, name)
				}
			}
		}
		if asked, err := parseFilter(query); check(err) {
			for _, phase := range asked.phases {
				if !slices.Contains(rollout.Phases(), phase) {
					t.Errorf("%q: phase %q", raw, phase)
				}
			}
		}
		if p, err := pageOf(query); check(err) && (p.limit < 1 || p.limit > largestPart || strings.ContainsRune(p.after, 0)) {
			t.Errorf("%q: page %+v", raw, p)
		}
		if while, err := span(query, "while", usualWhile, time.Minute, longestWhile); check(err) && (while < time.Minute || while > longestWhile) {
			t.Errorf("%q: %v", raw, while)
		}
	})
}

func FuzzWish(f *testing.F) {
	f.Add(`{"database":"orders","from":"2026-11-30T02:00:00Z","for":"2h","reason":"peak","request":"r-1"}`)
	f.Add(`{"database":"*","until":"9999-12-31T23:59:59Z"}`)
	f.Add(`{"database":"orders","for":"2h","for":"3h"}`)
	f.Add(`{"Database":"orders"}`)
	f.Add("{\"database\":\"\xff\",\"for\":\"1h\"}")
	f.Fuzz(func(t *testing.T, text string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/freezes", strings.NewReader(text))
		r.Header.Set("Content-Type", "application/json")
		c := &call{w: w, r: r}
		got, err := c.wish("reason", "request", "database", "from", "until", "for")
		if err == nil {
			_, err = got.until(time.Time{}, rollout.LongestFreeze)
		}
		if err == nil {
			if got.Database == "" || got.Quiet != nil || got.What != "" {
				t.Errorf("%q: taken as %+v", text, got)
			}
			return
		}
		if p := status(err); p.Status != http.StatusBadRequest && p.Status != http.StatusRequestEntityTooLarge || p.Detail == "" {
			t.Errorf("%q: %d %q", text, p.Status, p.Detail)
		}
	})
}

func FuzzETag(f *testing.F) {
	f.Add(`"a", W/"b"`, "b")
	f.Add("*", "")
	f.Fuzz(func(t *testing.T, header, text string) {
		tag := etag([]byte(text))
		if !matches([]string{header, tag}, tag) {
			t.Errorf("%q and its own tag %s do not match", header, tag)
		}
		if matches([]string{header}, tag) && !strings.Contains(header, tag) && !strings.Contains(header, "*") {
			t.Errorf("%q matches %s", header, tag)
		}
	})
}
