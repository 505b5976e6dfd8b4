package rollout

import "time"

// Within reports whether a whole occurrence of the window lies in [from, to]. An
// occurrence is never shorter than the window: on a day that skips an hour it ends
// later. A zone that is not known contains nothing; Plan.Validate refuses it.
func (w Window) Within(from, to time.Time) bool {
	zone, err := time.LoadLocation(w.Zone)
	if err != nil {
		return false
	}
	local := from.In(zone)
	if !w.Daily {
		return w.minutesWithin(local, to)
	}
	length, over := w.To-w.From, 0
	if length <= 0 {
		length, over = length+24*time.Hour, 1
	}
	for day := 0; ; day++ {
		start := at(local, day, w.From)
		if start.After(to) {
			return false
		}
		long := !start.Add(length).After(to) && !at(local, day+over, w.To).After(to)
		if long && !start.Before(from) && w.on(start) {
			return true
		}
	}
}

// at returns a time of day some days after a date; days have 23 to 25 hours.
func at(date time.Time, days int, clock time.Duration) time.Time {
	return time.Date(date.Year(), date.Month(), date.Day()+days, int(clock/time.Hour), int(clock/time.Minute)%60, 0, 0, date.Location())
}

// on reports whether the window opens on a weekday.
func (w Window) on(start time.Time) bool {
	for _, day := range w.Weekdays {
		if day == start.Weekday() {
			return true
		}
	}
	return len(w.Weekdays) == 0
}

// minutesWithin takes the hours of from's zone, which may begin at half past.
func (w Window) minutesWithin(from, to time.Time) bool {
	minutes := (w.ToMinute-w.FromMinute+60)%60 + 1
	start := from.Truncate(time.Minute).Add(time.Duration(w.FromMinute-from.Minute()) * time.Minute)
	for ; !start.After(to); start = start.Add(time.Hour) {
		if !start.Before(from) && !start.Add(time.Duration(minutes)*time.Minute).After(to) && w.on(start) {
			return true
		}
	}
	return false
}
