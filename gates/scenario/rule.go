package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-c8cbbb61/cutover/gates"
)

// rule is one rule on the series of a scenario.
type rule struct {
	kind  string
	known *trial // nil for a kind that is not known
}

// trial is a rule put as a gate on a series.
type trial struct {
	severity string
	gate     gates.Gate
	values   []*float64 // nil where missing
}

// kind is what a known kind of rule reads from its text.
type kind interface {
	// named returns what all kinds have.
	named() head
	// put says what the rule holds against which values.
	put(e entry) (gates.Limit, []*float64, error)
}

// head is what the rules of all kinds have.
type head struct {
	Gate     string `json:"gate"`
	Kind     string `json:"kind"`
	Metric   string `json:"metric"`
	Severity string `json:"severity"`
}

func (h head) named() head { return h }

// rule reads one rule.
func (e entry) rule(text []byte) (rule, error) {
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		return rule{}, err
	}
	var k kind
	switch h.Kind {
	case "max":
		k = &maxRule{}
	case "min":
		k = &minRule{}
	case "band":
		k = &bandRule{}
	case "fresh":
		k = &freshRule{}
	case "":
		return rule{}, errors.New("it has no kind")
	default:
		return rule{kind: h.Kind}, nil
	}
	if err := strict(text, k); err != nil {
		return rule{}, err
	}
	t, err := e.try(k)
	if err != nil {
		return rule{}, fmt.Errorf("gate %q, of kind %s: %w", h.Gate, h.Kind, err)
	}
	return rule{kind: h.Kind, known: t}, nil
}

// try puts a rule as a gate, and refuses it if it cannot be judged.
func (e entry) try(k kind) (*trial, error) {
	h := k.named()
	if h.Gate == "" {
		return nil, errors.New("it has no gate")
	}
	switch h.Severity {
	case "fail", "hold", "escalate":
	default:
		return nil, fmt.Errorf("severity is %q: it must be fail, hold or escalate", h.Severity)
	}
	limit, values, err := k.put(e)
	if err != nil {
		return nil, err
	}
	t := &trial{
		severity: h.Severity,
		gate: gates.Gate{
			Name:   h.Gate,
			Metric: gates.Metric{Name: h.Metric, Period: time.Duration(e.PeriodS) * time.Second},
			Limit:  limit,
			Absent: gates.AbsentUnknown,
		},
		values: values,
	}
	if v := t.judge(); v.Cause == gates.Config {
		return nil, errors.New(v.Why)
	}
	return t, nil
}

// judge holds the series against the gate, at a time when all of it is known.
func (t *trial) judge() gates.Verdict {
	begin, period := time.Unix(0, 0), t.gate.Metric.Period
	var s gates.Series
	for i, value := range t.values {
		if value != nil {
			s.Points = append(s.Points, gates.Point{Start: begin.Add(time.Duration(i) * period), Value: *value})
		}
	}
	return gates.Judge(t.gate, s, begin, begin.Add(time.Duration(len(t.values))*period))
}
