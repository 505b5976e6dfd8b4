package main

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// clock tells the server's time, by the date of its last answer.
type clock struct {
	mu    sync.Mutex
	date  time.Time // of the answer; zero before the first
	heard time.Time // when it came, by our own clock
}

// now returns the server's time, or ours while it has not answered.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.date.IsZero() {
		return time.Now()
	}
	return c.date.Add(time.Since(c.heard))
}

// listen reads the date of each answer.
func (c *clock) listen(next http.RoundTripper) http.RoundTripper { return &listening{c, next} }

type listening struct {
	clock *clock
	next  http.RoundTripper
}

// RoundTrip asks, and notes the date of the answer.
func (l *listening) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		l.clock.mu.Lock()
		l.clock.date, l.clock.heard = date, time.Now()
		l.clock.mu.Unlock()
	}
	return resp, nil
}

// moment writes a time with its zone; the date is left out today.
func moment(t, now time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "never"
	}
	t, now = t.In(zone), now.In(zone)
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05 MST")
	}
	return t.Format("2006-01-02 15:04:05 MST")
}

// span writes a duration in two units at most: 44s, 6m12s, 1h52m, 3d4h.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	d = max(d, 0)
	switch {
	case d < time.Second && d > 0:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return two(d, time.Minute, "m", time.Second, "s")
	case d < day:
		return two(d, time.Hour, "h", time.Minute, "m")
	default:
		return two(d, day, "d", time.Hour, "h")
	}
}

func two(d, big time.Duration, bigUnit string, small time.Duration, smallUnit string) string {
	if rest := d % big / small; rest > 0 {
		return fmt.Sprintf("%d%s%d%s", d/big, bigUnit, rest, smallUnit)
	}
	return fmt.Sprintf("%d%s", d/big, bigUnit)
}
