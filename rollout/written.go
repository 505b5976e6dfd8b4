package rollout

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// FormatSpan writes a duration as a plan file does: 90s is 1m30s, a week 7d.
func FormatSpan(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

// FormatLimit writes one side of a limit as a plan file does, from its value in
// the unit of its metric: 50000 of us is 50ms, 80 of percent is 80%.
func FormatLimit(value float64, unit string) string {
	value, unit = rounder(value, unit)
	switch unit {
	case "percent":
		unit = "%"
	case "count/s":
		unit = "/s"
	case "count":
		unit = ""
	}
	return strconv.FormatFloat(value, 'f', -1, 64) + unit
}

// rounder returns a time in the largest unit in which it is a whole number, so
// that it is read back as the same value.
func rounder(value float64, unit string) (float64, string) {
	const exact = 1 << 53 // above it, whole numbers are no longer told apart
	sizes := []struct {
		unit string
		size float64
	}{{"h", 3600e6}, {"m", 60e6}, {"s", 1e6}, {"ms", 1e3}, {"us", 1}}
	for _, own := range sizes {
		if own.unit != unit || value == 0 {
			continue
		}
		micros := value * own.size
		for _, other := range sizes {
			if whole := math.Mod(micros, other.size) == 0; whole && math.Abs(micros) < exact && other.size > own.size {
				return micros / other.size, other.unit
			}
		}
	}
	return value, unit
}

// String writes a window on a line: 01:00-05:00 Asia/Tokyo on mon, fri.
func (w Window) String() string {
	clock := func(d time.Duration) string { return fmt.Sprintf("%02d:%02d", d/time.Hour, d%time.Hour/time.Minute) }
	text := fmt.Sprintf("%s-%s %s", clock(w.From), clock(w.To), w.Zone)
	if !w.Daily {
		text = fmt.Sprintf("minute %d-%d", w.FromMinute, w.ToMinute)
	}
	days := make([]string, len(w.Weekdays))
	for i, day := range w.Weekdays {
		days[i] = strings.ToLower(day.String())[:3]
	}
	if len(days) > 0 {
		text += " on " + strings.Join(days, ", ")
	}
	return text
}
