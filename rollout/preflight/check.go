package preflight

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Facts are what was found, in the order of the plan's lanes and gates.
type Facts struct {
	Flags    []rollout.Flag
	TakeOver []rollout.LaneShare // what the flags are said to have; none where they must be at 0 %
	Tasks    []rollout.Observation
	Verdicts []gates.Verdict
	Notes    []string // what the sources of the gates said

	Every     time.Duration // between two guard cycles
	ReadEvery time.Duration // between two reads of metrics
}

// soon is within how long at least one guardrail should see a breach.
const soon = 30 * time.Second

// Check returns the report of a preflight. Its hash is the evidence that a
// first step is approved on.
func Check(p *rollout.Plan, f *Facts) *rollout.Report {
	report := &rollout.Report{}
	add := func(result, name, format string, args ...any) {
		report.Checks = append(report.Checks, rollout.Check{Name: name, Result: result, Why: fmt.Sprintf(format, args...)})
	}
	for i := range p.Lanes {
		said := saidOf(f.TakeOver, p.Lanes[i].Name)
		checkFlag(p, i, &f.Flags[i], said, add)
		checkTasks(p, i, &f.Tasks[i], said, add)
	}
	for i := range p.Gates {
		checkGate(&p.Gates[i], &f.Verdicts[i], f.Notes[i], add)
	}
	checkDetection(p, f, add)
	report.Hash = hash(report)
	return report
}

type adder func(result, name, format string, args ...any)

// saidOf returns the share that a lane's flag is said to have.
func saidOf(takeOver []rollout.LaneShare, lane string) flags.Share {
	for _, said := range takeOver {
		if said.Lane == lane {
			return said.Share
		}
	}
	return flags.None
}

func checkFlag(p *rollout.Plan, lane int, f *rollout.Flag, said flags.Share, add adder) {
	key, name := p.Lanes[lane].Flag, "flag "+p.Lanes[lane].Name
	switch {
	case f.Err != "":
		add(rollout.CheckFail, name, "flag %s cannot be used: %s", key, f.Err)
	case f.Stamp.Rollout != "" && f.Stamp.Rollout != p.Name:
		add(rollout.CheckFail, name, "flag %s is rollout %s's, for ever; use another flag key", key, f.Stamp.Rollout)
	case f.Share != said && said > flags.None:
		add(rollout.CheckFail, name, "flag %s is at %v, not at %v as was said", key, f.Share, said)
	case f.Share != said:
		add(rollout.CheckFail, name, "flag %s is at %v; it must be at 0%% to start, or be taken over at %v", key, f.Share, f.Share)
	case said > flags.None:
		add(rollout.CheckPass, name, "flag %s is at %v, as was said", key, said)
	default:
		add(rollout.CheckPass, name, "flag %s is there, at 0%%, without rules that are not ours", key)
	}
}

func checkTasks(p *rollout.Plan, lane int, o *rollout.Observation, said flags.Share, add adder) {
	name := "tasks " + p.Lanes[lane].Name
	if !o.Converged {
		add(rollout.CheckFail, name, "%s", o.Why)
		return
	}
	if said > flags.None {
		add(rollout.CheckPass, name, "%d of %d tasks report, %d of them on the target, those whose hash asks for it at %v", o.Live, o.Inventory, o.On, said)
		return
	}
	add(rollout.CheckPass, name, "%d of %d tasks report, all of them on the source", o.Live, o.Inventory)
}

func checkGate(g *gates.Gate, v *gates.Verdict, note string, add adder) {
	name := "gate " + g.Name
	if note != "" {
		note = " (" + note + ")"
	}
	switch {
	case v.Breach:
		add(rollout.CheckFail, name, "is in breach before anything was moved: %s", v.Why)
	case v.Allows():
		add(rollout.CheckPass, name, "%s", v.Why)
	case v.Cause == gates.NotStarted:
		add(rollout.CheckPass, name, "has no data yet; it is of a kind that begins with the first traffic")
	default:
		add(rollout.CheckFail, name, "cannot be judged, %s: %s%s", v.Cause, v.Why, note)
	}
}

// checkDetection warns where no guardrail would see a breach within 30 s.
func checkDetection(p *rollout.Plan, f *Facts, add adder) {
	fastest := time.Duration(-1)
	for i := range p.Gates {
		g := &p.Gates[i]
		if g.OnBreach != gates.OnBreachZero {
			continue
		}
		sees := time.Duration(g.Limit.M)*g.Metric.Period + g.Delay + min(f.Every, p.Guard.Every)
		if g.Source == "tasks" {
			sees += p.Converge.Interval
		} else {
			sees += f.ReadEvery
		}
		if fastest < 0 || sees < fastest {
			fastest = sees
		}
	}
	switch {
	case fastest < 0:
		add(rollout.CheckWarn, "detection", "no gate takes a share to zero; a breach is only stepped back or held")
	case fastest > soon:
		add(rollout.CheckWarn, "detection", "the fastest guardrail sees a breach after %v; one should within %v, by the tasks' own reports", fastest, soon)
	default:
		add(rollout.CheckPass, "detection", "the fastest guardrail sees a breach within %v", fastest)
	}
}

func hash(r *rollout.Report) string {
	text, err := json.Marshal(r.Checks)
	if err != nil {
		panic("checks that JSON cannot hold: " + err.Error()) // they are strings
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
