package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Scenario is a recorded moment and the verdict expected of it.
type Scenario struct {
	ID     string
	Expect string

	preflight string // the name of its preflight rule, if it has one
	rules     []rule
}

// Verdict says what the rules find, in the words of the file: "pass", or
// severity:gate of each rule that is broken, in the order of the rules and
// parted by commas. If any rule is of a kind that is not known, the verdict
// cannot be told: it is unknown:KIND of the first such one, preflight first.
func (s Scenario) Verdict() string {
	if s.preflight != "" {
		return "unknown:" + s.preflight
	}
	var broken []string
	for _, r := range s.rules {
		if r.known == nil {
			return "unknown:" + r.kind
		}
		if r.known.judge().Breach {
			broken = append(broken, r.known.severity+":"+r.known.gate.Name)
		}
	}
	if len(broken) == 0 {
		return "pass"
	}
	return strings.Join(broken, ",")
}

// Run writes a line "ID verdict" for each scenario, and counts those whose
// verdict differs from what is expected.
func Run(w io.Writer, scenarios []Scenario) (differs int) {
	for _, s := range scenarios {
		verdict := s.Verdict()
		if verdict != s.Expect {
			differs++
		}
		fmt.Fprintf(w, "%s %s\n", s.ID, verdict)
	}
	return differs
}

// file is the text of a file of scenarios.
type file struct {
	Version   int     `json:"version"`
	Note      string  `json:"note"`
	Scenarios []entry `json:"scenarios"`
}

// entry is the text of a scenario.
type entry struct {
	ID        string                     `json:"id"`
	Source    string                     `json:"source"`
	URL       string                     `json:"url"`
	Stage     string                     `json:"stage"`
	Why       string                     `json:"why"`
	PeriodS   int                        `json:"period_s"`
	Series    map[string]json.RawMessage `json:"series"` // values are read where a known rule asks for them
	Rules     []json.RawMessage          `json:"rules"`
	Preflight json.RawMessage            `json:"preflight"`
	Expect    string                     `json:"expect"`
}

// Parse reads a file of scenarios. It refuses fields that it does not know,
// other than those of rules whose kind it does not know.
func Parse(r io.Reader) ([]Scenario, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading scenarios: %w", err)
	}
	var f file
	if err := strict(text, &f); err != nil {
		return nil, fmt.Errorf("reading scenarios: %w", err)
	}
	if f.Version != 1 {
		return nil, fmt.Errorf("version is %d: only 1 is known", f.Version)
	}
	scenarios := make([]Scenario, 0, len(f.Scenarios))
	seen := make(map[string]bool)
	for i, e := range f.Scenarios {
		s, err := e.scenario()
		switch {
		case e.ID == "":
			return nil, fmt.Errorf("scenario %d of %d has no id", i+1, len(f.Scenarios))
		case seen[e.ID]:
			return nil, fmt.Errorf("two scenarios have the id %s", e.ID)
		case err != nil:
			return nil, fmt.Errorf("scenario %s: %w", e.ID, err)
		}
		seen[e.ID] = true
		scenarios = append(scenarios, s)
	}
	return scenarios, nil
}

// scenario reads one scenario.
func (e entry) scenario() (Scenario, error) {
	s := Scenario{ID: e.ID, Expect: e.Expect}
	if e.Expect == "" {
		return s, errors.New(`expect is empty: it must be "pass" or severity:gate, parted by commas`)
	}
	if e.PeriodS < 1 {
		return s, fmt.Errorf("period_s is %d: it must be 1 or more", e.PeriodS)
	}
	var preflight map[string]json.RawMessage
	if len(e.Preflight) > 0 {
		if err := json.Unmarshal(e.Preflight, &preflight); err != nil {
			return s, fmt.Errorf("reading preflight: %w", err)
		}
	}
	if len(preflight) > 0 {
		if err := json.Unmarshal(preflight["rule"], &s.preflight); err != nil || s.preflight == "" {
			return s, errors.New(`preflight has no "rule": it must name one, or be {}`)
		}
	}
	for i, text := range e.Rules {
		r, err := e.rule(text)
		if err != nil {
			return s, fmt.Errorf("rule %d: %w", i+1, err)
		}
		s.rules = append(s.rules, r)
	}
	return s, nil
}

// values reads a series: a value for each period, nil where it is missing.
func (e entry) values(name string) ([]*float64, error) {
	text, ok := e.Series[name]
	if !ok {
		return nil, fmt.Errorf("there is no series %q", name)
	}
	var values []*float64
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("series %q: %w", name, err)
	}
	return values, nil
}

// strict reads one JSON value, all of it, without unknown fields.
func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more text after the end")
	}
	return nil
}
