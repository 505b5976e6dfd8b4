package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// length is how long something is to last, as people write it: 90m, 1h30m, 7d.
type length time.Duration

// UnmarshalText reads a length. It must be above zero.
func (l *length) UnmarshalText(text []byte) error {
	wrong := fmt.Errorf("%q: must be a duration above 0, such as 90m, 4h or 7d", text)
	rest, total := string(text), time.Duration(0)
	if days, after, ok := strings.Cut(rest, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return wrong
		}
		total, rest = time.Duration(n)*day, after
	}
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 {
			return wrong
		}
		total += d
	}
	if total <= 0 {
		return wrong
	}
	*l = length(total)
	return nil
}

// A time of day in no zone of its own, with seconds or without.
const (
	localMinute = "2006-01-02 15:04"
	localSecond = "2006-01-02 15:04:05"
)

// instant reads a time that a person wrote: one with its own zone, or one in the
// zone of --tz. A local time that the zone leaves out, or has twice, is refused:
// an hour is a long time.
func (s *session) instant(flag, text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC(), nil
	}
	for _, layout := range []string{localMinute, localSecond} {
		t, err := time.ParseInLocation(layout, text, s.zone)
		if err != nil {
			continue
		}
		if t.Format(layout) != text {
			return time.Time{}, usageError{text: fmt.Sprintf("%s %q: there is no such time in %v, where clocks are put forward then", flag, text, s.zone)}
		}
		for _, apart := range []time.Duration{-time.Hour, -time.Hour / 2, time.Hour / 2, time.Hour} {
			if t.Add(apart).Format(layout) == text {
				return time.Time{}, usageError{text: fmt.Sprintf("%s %q: %v has this time twice, as clocks are put back; say it with its zone, such as %s",
					flag, text, s.zone, t.Format(time.RFC3339))}
			}
		}
		return t.UTC(), nil
	}
	return time.Time{}, usageError{text: fmt.Sprintf("%s %q: must be a time with its zone such as 2026-12-01T18:00:00Z, or one such as \"2026-12-01 18:00\" in the zone of --tz, which is %v",
		flag, text, s.zone)}
}
