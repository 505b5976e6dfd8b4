package planfile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

var (
	minutePattern = regexp.MustCompile(`^(0|[1-9][0-9]?)(?:-(0|[1-9][0-9]?))?$`)
	timePattern   = regexp.MustCompile(`^([01][0-9]|2[0-4]):([0-5][0-9])-([01][0-9]|2[0-4]):([0-5][0-9])$`)
)

// window reads minutes of each hour or times of a day.
func (o *object) window() rollout.Window {
	var w rollout.Window
	minutes := o.has("minute")
	w.Daily = o.has("time")
	if minutes == w.Daily {
		o.doc.wrong(o.field, "must have either minute, such as 25-26, or time, such as 01:00-05:00")
	}
	w.FromMinute, w.ToMinute = o.minutes("minute")
	w.From, w.To = o.times("time")
	w.Zone = o.text("zone", "")
	w.Weekdays = o.weekdays("weekdays")
	return w
}

func (o *object) minutes(name string) (from, to int) {
	const allowed = "must be a minute of the hour from 0 to 59, or a range such as 25-26 or 58-2"
	text, ok := o.scalar(name, allowed, "!!int", "!!str")
	if !ok {
		return 0, 0
	}
	parts := minutePattern.FindStringSubmatch(text)
	if parts == nil {
		o.wrong(name, allowed)
		return 0, 0
	}
	from, _ = strconv.Atoi(parts[1]) // the pattern lets only small numbers through
	to = from
	if parts[2] != "" {
		to, _ = strconv.Atoi(parts[2])
	}
	return from, to
}

func (o *object) times(name string) (from, to time.Duration) {
	const allowed = `must be two different times of day such as "01:00-05:00"`
	text, ok := o.scalar(name, allowed, "!!str")
	if !ok {
		return 0, 0
	}
	parts := timePattern.FindStringSubmatch(text)
	if parts == nil {
		o.wrong(name, allowed)
		return 0, 0
	}
	return timeOfDay(parts[1], parts[2]), timeOfDay(parts[3], parts[4])
}

// timeOfDay takes digits that a pattern has let through.
func timeOfDay(hours, minutes string) time.Duration {
	h, _ := strconv.Atoi(hours)
	m, _ := strconv.Atoi(minutes)
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
}

func (o *object) weekdays(name string) []time.Weekday {
	const allowed = "must be sun, mon, tue, wed, thu, fri or sat"
	if n := o.fields[name]; n != nil && n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		o.wrong(name, "must name at least one day; leave it out for every day")
	}
	var days []time.Weekday
	for i, text := range o.texts(name, nil) {
		day, ok := weekday(text)
		if !ok {
			o.doc.wrong(item(child(o.field, name), i), allowed)
			continue
		}
		days = append(days, day)
	}
	return days
}

func weekday(text string) (time.Weekday, bool) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if text == formatWeekday(day) {
			return day, true
		}
	}
	return time.Sunday, false
}

func formatWeekday(day time.Weekday) string { return strings.ToLower(day.String()[:3]) }

func formatMinutes(w rollout.Window) string {
	if w.FromMinute == w.ToMinute {
		return strconv.Itoa(w.FromMinute)
	}
	return fmt.Sprintf("%d-%d", w.FromMinute, w.ToMinute)
}

func formatTimes(w rollout.Window) string {
	clock := func(d time.Duration) string { return fmt.Sprintf("%02d:%02d", d/time.Hour, d%time.Hour/time.Minute) }
	return clock(w.From) + "-" + clock(w.To)
}
