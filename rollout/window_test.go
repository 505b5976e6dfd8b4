package rollout_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

const hour = time.Hour

func daily(from, to time.Duration, zone string, days ...time.Weekday) rollout.Window {
	return rollout.Window{Daily: true, From: from, To: to, Zone: zone, Weekdays: days}
}

func minutes(from, to int, zone string, days ...time.Weekday) rollout.Window {
	return rollout.Window{FromMinute: from, ToMinute: to, Zone: zone, Weekdays: days}
}

// TestWindows says whether data between two moments contain a whole occurrence
// of a window. Moments are in the window's own zone, unless they name an offset.
func TestWindows(t *testing.T) {
	burst := minutes(25, 26, "")
	night := daily(1*hour, 5*hour, "UTC")
	late := daily(22*hour, 4*hour, "UTC")
	berlin := daily(1*hour, 5*hour, "Europe/Berlin")
	york := daily(1*hour, 5*hour, "America/New_York")
	tests := []struct {
		name     string
		window   rollout.Window
		from, to string
		want     bool
	}{
		{"minutes, to the last second of the last one", burst, "2026-01-05 12:25:00", "2026-01-05 12:27:00", true},
		{"minutes, a second short", burst, "2026-01-05 12:25:00", "2026-01-05 12:26:59", false},
		{"minutes, begun a second late", burst, "2026-01-05 12:25:01", "2026-01-05 12:30:00", false},
		{"minutes, of the next hour", burst, "2026-01-05 12:25:01", "2026-01-05 13:27:00", true},
		{"minutes, just between two", burst, "2026-01-05 12:27:00", "2026-01-05 13:25:00", false},
		{"one minute", minutes(0, 0, ""), "2026-01-05 12:59:00", "2026-01-05 13:01:00", true},
		{"a whole hour", minutes(0, 59, ""), "2026-01-05 12:00:00", "2026-01-05 13:00:00", true},
		{"a whole hour, begun late", minutes(0, 59, ""), "2026-01-05 12:01:00", "2026-01-05 13:59:59", false},
		{"minutes past the full hour", minutes(58, 2, ""), "2026-01-05 12:58:00", "2026-01-05 13:03:00", true},
		{"minutes past the full hour, a second short", minutes(58, 2, ""), "2026-01-05 12:58:00", "2026-01-05 13:02:59", false},
		{"minutes of a zone that is half an hour off", minutes(0, 4, "Asia/Kolkata"), "2026-01-05 12:00:00", "2026-01-05 12:05:00", true},
		{"minutes of such a zone, held against full hours of UTC", minutes(0, 4, "Asia/Kolkata"), "2026-01-05T12:00:00Z", "2026-01-05T12:29:00Z", false},
		{"minutes on a weekday", minutes(25, 26, "", time.Monday), "2026-01-05 00:00:00", "2026-01-05 01:00:00", true},
		{"minutes on another weekday", minutes(25, 26, "", time.Tuesday), "2026-01-05 00:00:00", "2026-01-05 23:59:00", false},
		{"minutes on a weekday of the zone, which UTC does not have yet", minutes(25, 26, "Asia/Tokyo", time.Tuesday), "2026-01-05T15:00:00Z", "2026-01-05T16:00:00Z", true},

		{"a night", night, "2026-01-05 01:00:00", "2026-01-05 05:00:00", true},
		{"a night, a second short", night, "2026-01-05 01:00:00", "2026-01-05 04:59:59", false},
		{"a night, begun a second late", night, "2026-01-05 01:00:01", "2026-01-06 04:59:59", false},
		{"the next night", night, "2026-01-05 01:00:01", "2026-01-06 05:00:00", true},
		{"across midnight", late, "2026-01-05 22:00:00", "2026-01-06 04:00:00", true},
		{"across midnight, a second short", late, "2026-01-05 22:00:00", "2026-01-06 03:59:59", false},
		{"across midnight, begun after it", late, "2026-01-06 00:30:00", "2026-01-06 23:00:00", false},
		{"up to midnight", daily(20*hour, 24*hour, "UTC"), "2026-01-05 20:00:00", "2026-01-06 00:00:00", true},
		{"up to midnight, a second short", daily(20*hour, 24*hour, "UTC"), "2026-01-05 20:00:00", "2026-01-05 23:59:59", false},
		{"from midnight to midnight", daily(0, 24*hour, "UTC"), "2026-01-05 00:00:00", "2026-01-06 00:00:00", true},
		{"a night in Tokyo", daily(1*hour, 5*hour, "Asia/Tokyo"), "2026-01-04T16:00:00Z", "2026-01-04T20:00:00Z", true},
		{"a night in Tokyo is no night in UTC", daily(1*hour, 5*hour, "Asia/Tokyo"), "2026-01-05T01:00:00Z", "2026-01-05T05:00:00Z", false},
		{"a zone that is not known", daily(1*hour, 5*hour, "Asia/Tokio"), "2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z", false},
		{"a night that begins on a Friday", daily(22*hour, 4*hour, "UTC", time.Friday), "2026-01-05 00:00:00", "2026-01-10 04:00:00", true},
		{"a night that begins on a Thursday and ends on a Friday", daily(22*hour, 4*hour, "UTC", time.Friday), "2026-01-08 00:00:00", "2026-01-09 23:00:00", false},
		{"one of several weekdays", daily(9*hour, 17*hour, "UTC", time.Saturday, time.Monday), "2026-01-09 00:00:00", "2026-01-10 17:00:00", true},
		{"nothing at all", night, "2026-01-05 03:00:00", "2026-01-05 03:00:00", false},
		{"a span that ends before it begins", night, "2026-01-06 05:00:00", "2026-01-05 01:00:00", false},

		{"the night in which Berlin loses an hour lasts as long as any", berlin, "2026-03-29T00:00:00Z", "2026-03-29T04:00:00Z", true},
		{"by the wall clock it is over, an hour too soon", berlin, "2026-03-29T00:00:00Z", "2026-03-29T03:00:00Z", false},
		{"the night in which Berlin has an hour twice is an hour longer", berlin, "2026-10-24T23:00:00Z", "2026-10-25T04:00:00Z", true},
		{"four hours of it are not all", berlin, "2026-10-24T23:00:00Z", "2026-10-25T03:00:00Z", false},
		{"the night in which New York loses an hour", york, "2026-03-08T06:00:00Z", "2026-03-08T10:00:00Z", true},
		{"by the wall clock, an hour too soon", york, "2026-03-08T06:00:00Z", "2026-03-08T09:00:00Z", false},
		{"the night in which New York has an hour twice", york, "2026-11-01T05:00:00Z", "2026-11-01T10:00:00Z", true},
		{"four hours of it", york, "2026-11-01T05:00:00Z", "2026-11-01T09:00:00Z", false},
		{"an hour that Berlin skips is not over in an instant", daily(2*hour, 3*hour, "Europe/Berlin"), "2026-03-29T00:59:00Z", "2026-03-29T01:59:00Z", false},
		{"an hour that New York skips in half is not, either", daily(90*time.Minute, 150*time.Minute, "America/New_York"), "2026-03-08T06:30:00Z", "2026-03-08T07:29:00Z", false},
		{"the day after is as always", berlin, "2026-03-29T23:00:00Z", "2026-03-30T03:00:00Z", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			zone, err := time.LoadLocation(tt.window.Zone)
			if err != nil {
				zone = time.UTC
			}
			moment := func(text string) time.Time {
				at, err := time.Parse(time.RFC3339, text)
				if err != nil {
					at, err = time.ParseInLocation(time.DateTime, text, zone)
				}
				if err != nil {
					t.Fatal(err)
				}
				return at.UTC()
			}
			if got := tt.window.Within(moment(tt.from), moment(tt.to)); got != tt.want {
				t.Errorf("from %s to %s: %v", tt.from, tt.to, got)
			}
		})
	}
}

// TestWindowsAreNeverShort holds windows of all kinds, in zones that change their
// clocks, against two laws: a span shorter than the window never contains it, and
// more data never contain less.
func TestWindowsAreNeverShort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Asia/Kolkata", "Australia/Lord_Howe"}).Draw(t, "zone")
		w := minutes(rapid.IntRange(0, 59).Draw(t, "first"), rapid.IntRange(0, 59).Draw(t, "last"), zone)
		length := time.Duration((w.ToMinute-w.FromMinute+60)%60+1) * time.Minute
		if rapid.Bool().Draw(t, "daily") {
			at := func(name string) time.Duration {
				return time.Duration(rapid.IntRange(0, 24*60-1).Draw(t, name)) * time.Minute
			}
			w = daily(at("from"), at("to"), zone)
			if length = w.To - w.From; length <= 0 {
				length += 24 * hour
			}
		}
		days := []time.Time{
			time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC), time.Date(2026, 4, 4, 0, 0, 0, 0, time.UTC),
			time.Date(2026, 10, 24, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC),
		}
		from := rapid.SampledFrom(days).Draw(t, "day").Add(time.Duration(rapid.IntRange(0, 48*60).Draw(t, "minute")) * time.Minute)
		to := from.Add(time.Duration(rapid.IntRange(0, 60*60).Draw(t, "length")) * time.Minute)
		within := w.Within(from, to)
		if within && to.Sub(from) < length {
			t.Errorf("%v contain a window of %v", to.Sub(from), length)
		}
		if within && (!w.Within(from.Add(-hour), to) || !w.Within(from, to.Add(hour))) {
			t.Error("more data contain less")
		}
		if !within && to.Sub(from) >= 49*hour+length {
			t.Errorf("%v contain no window of %v", to.Sub(from), length)
		}
	})
}
