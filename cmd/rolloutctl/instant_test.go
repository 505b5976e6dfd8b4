package main

import (
	"strings"
	"testing"
	"time"
)

func TestALengthIsReadAsPeopleWriteIt(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "1h30m": 90 * time.Minute, "7d": 7 * day, "1d12h": 36 * time.Hour, "90s": 90 * time.Second, "0d5m": 5 * time.Minute,
	} {
		var l length
		if err := l.UnmarshalText([]byte(text)); err != nil || time.Duration(l) != want {
			t.Errorf("%s: got %v, %v; want %v", text, time.Duration(l), err, want)
		}
	}
	for _, text := range []string{"", "0", "0m", "-4h", "4", "soon", "d", "1.5d", "-1d", "99999d", "1h1d", "4 h", "1d-2h"} {
		var l length
		if err := l.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "must be a duration above 0, such as 90m, 4h or 7d") {
			t.Errorf("%q: got %v, %v; want it refused", text, time.Duration(l), err)
		}
	}
}

func TestATimeIsReadInItsOwnZoneOrInThatOfTheCommand(t *testing.T) {
	for _, tt := range []struct{ zone, text, want string }{
		{"UTC", "2026-12-01T18:00:00Z", "2026-12-01T18:00:00Z"},
		{"Asia/Tokyo", "2026-12-01T18:00:00Z", "2026-12-01T18:00:00Z"},
		{"UTC", "2026-12-01T18:00:00+09:00", "2026-12-01T09:00:00Z"},
		{"UTC", "2026-12-01 18:00", "2026-12-01T18:00:00Z"},
		{"Asia/Tokyo", "2026-12-01 18:00", "2026-12-01T09:00:00Z"},
		{"Asia/Tokyo", "2026-12-01 18:00:30", "2026-12-01T09:00:30Z"},
		{"Europe/Berlin", "2026-03-29 03:00", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "2026-10-25 03:00", "2026-10-25T02:00:00Z"},
	} {
		got, err := inZone(t, tt.zone).instant("--until", tt.text)
		if err != nil || got.Format(time.RFC3339) != tt.want {
			t.Errorf("%s in %s: got %v, %v; want %s", tt.text, tt.zone, got, err, tt.want)
		}
	}
}

func TestATimeThatIsNoneOrTwoIsRefused(t *testing.T) {
	for _, tt := range []struct{ zone, text, want string }{
		{"UTC", "tomorrow", `--until "tomorrow": must be a time with its zone such as 2026-12-01T18:00:00Z, or one such as "2026-12-01 18:00" in the zone of --tz, which is UTC`},
		{"Asia/Tokyo", "18:00", "which is Asia/Tokyo"},
		{"UTC", "2026-12-01", "must be a time"},
		{"UTC", "2026-02-30 10:00", "must be a time"},
		{"UTC", "2026-12-01 25:00", "must be a time"},
		{"UTC", "2026-12-01T18:00:00", "must be a time"},
		{"UTC", "2026-12-1 18:00", "must be a time"},
		{"UTC", "", "must be a time"},
		{"Europe/Berlin", "2026-03-29 02:30", "there is no such time in Europe/Berlin, where clocks are put forward then"},
		{"Europe/Berlin", "2026-10-25 02:30", "Europe/Berlin has this time twice, as clocks are put back; say it with its zone, such as 2026-10-25T02:30:00+0"},
		{"Australia/Lord_Howe", "2026-04-05 01:45", "has this time twice"},
	} {
		got, err := inZone(t, tt.zone).instant("--until", tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) || exitCode(err) != exitUsage {
			t.Errorf("%q in %s: got %v, %v; want %s", tt.text, tt.zone, got, err, tt.want)
		}
	}
}

func inZone(t *testing.T, name string) *session {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return &session{zone: loc}
}

func FuzzALengthIsAboveZeroOrRefused(f *testing.F) {
	for _, text := range []string{"7d", "1d12h", "-1h", "9223372036854775807ns", "106751d23h47m17s", "65535d"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var l length
		if err := l.UnmarshalText([]byte(text)); err == nil && l <= 0 {
			t.Errorf("%q is read as %v", text, time.Duration(l))
		}
	})
}
