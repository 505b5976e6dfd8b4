package web

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// How far a report may go.
const (
	ahead      = time.Minute // a task's clock before ours: the newest report wins, for ever if it is from tomorrow
	nameLimit  = 256
	lanesLimit = 100
)

// report takes what a task says of itself. Fields that a newer task knows and we
// do not are left out: an application must not need an update of ours.
func (s *server) report(ctx context.Context, c *call) (answer, error) {
	text, err := c.body("application/json", reportLimit)
	if err != nil {
		return answer{}, err
	}
	var r rollout.TaskReport
	if err := loosely(text, &r); err != nil {
		return answer{}, err
	}
	if err := checkReport(&r, time.Now()); err != nil {
		return answer{}, err
	}
	if err := permit(mayReport(c.who, r.Service)); err != nil {
		return answer{}, err
	}
	if err := s.Fleet.Report(ctx, r); err != nil {
		return answer{}, fmt.Errorf("taking a report of %s: %w", r.Service, err)
	}
	return answer{status: http.StatusNoContent}, nil
}

// checkReport refuses what no task can mean.
func checkReport(r *rollout.TaskReport, now time.Time) error {
	for _, text := range []struct{ field, value string }{{"task", r.Task}, {"service", r.Service}} {
		if text.value == "" {
			return bad(text.field, "", "is missing")
		}
		if err := sayable(text.field, text.value, nameLimit); err != nil {
			return err
		}
	}
	if err := sayable("version", r.Version, nameLimit); err != nil {
		return err
	}
	switch {
	case r.SentAt.IsZero():
		return bad("sent_at", "", "is missing")
	case r.SentAt.After(now.Add(ahead)):
		return bad("sent_at", r.SentAt.Format(time.RFC3339), "must not lie in the future; is the task's clock right?")
	case r.StartedAt.After(r.SentAt):
		return bad("started_at", r.StartedAt.Format(time.RFC3339), "must not be after sent_at")
	case len(r.Lanes) > lanesLimit:
		return bad("lanes", fmt.Sprint(len(r.Lanes)), fmt.Sprintf("must be at most %d", lanesLimit))
	}
	seen := map[string]bool{}
	for i := range r.Lanes {
		lane := &r.Lanes[i]
		field := fmt.Sprintf("lanes[%d]", i)
		if seen[lane.Lane] {
			return bad(field+".lane", lane.Lane, "is there twice")
		}
		seen[lane.Lane] = true
		if err := checkLane(field, lane); err != nil {
			return err
		}
	}
	return nil
}

func checkLane(field string, l *rollout.LaneReport) error {
	if l.Lane == "" {
		return bad(field+".lane", "", "is missing")
	}
	if err := sayable(field+".lane", l.Lane, nameLimit); err != nil {
		return err
	}
	if err := sayable(field+".endpoint", l.Endpoint, nameLimit); err != nil {
		return err
	}
	if l.ShareSeen != nil && !l.ShareSeen.Valid() {
		return bad(field+".share_seen", fmt.Sprint(int(*l.ShareSeen)), "must be a whole percentage from 0 to 100")
	}
	for _, n := range []struct {
		name  string
		value float64
	}{
		{"open", float64(l.Open)},
		{"in_use", float64(l.InUse)},
		{"idle", float64(l.Idle)},
		{"opened", float64(l.Opened)},
		{"failed_opens", float64(l.FailedOpens)},
		{"worst_wait_ms", l.WorstWaitMS},
		{"read_only_errors", float64(l.ReadOnlyErrors)},
		{"indeterminate", float64(l.Indeterminate)},
		{"oldest_old_s", l.OldestOldSecond},
	} {
		if n.value < 0 {
			return bad(field+"."+n.name, fmt.Sprint(n.value), "must not be negative")
		}
	}
	return nil
}
