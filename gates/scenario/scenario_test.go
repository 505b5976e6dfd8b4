package scenario_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/gates/scenario"
)

// golden reads the golden scenarios.
func golden(t *testing.T) []byte {
	text, err := os.ReadFile("testdata/scenarios.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// unknowns says for each golden scenario which kind of rule keeps it from a
// verdict, read from the text alone.
func unknowns(t *testing.T) map[string]string {
	var file struct {
		Scenarios []struct {
			ID        string
			Preflight struct{ Rule string }
			Rules     []struct{ Kind string }
		}
	}
	if err := json.Unmarshal(golden(t), &file); err != nil {
		t.Fatal(err)
	}
	unknown := make(map[string]string)
	for _, s := range file.Scenarios {
		kinds := []string{s.Preflight.Rule}
		for _, r := range s.Rules {
			kinds = append(kinds, r.Kind)
		}
		for _, kind := range kinds {
			if !slices.Contains([]string{"", "max", "min", "band", "fresh"}, kind) && unknown[s.ID] == "" {
				unknown[s.ID] = kind
			}
		}
	}
	return unknown
}

func TestGoldenScenariosGetTheVerdictThatAGoodJudgeGives(t *testing.T) {
	scenarios, err := scenario.Parse(strings.NewReader(string(golden(t))))
	if err != nil {
		t.Fatal(err)
	}
	unknown, known := unknowns(t), 0
	for _, s := range scenarios {
		want := s.Expect
		if kind := unknown[s.ID]; kind != "" {
			want = "unknown:" + kind
		} else {
			known++
		}
		if got := s.Verdict(); got != want {
			t.Errorf("%s: %s, want %s", s.ID, got, want)
		}
	}
	if len(scenarios) != 27 || known != 10 {
		t.Errorf("%d scenarios, %d of them of known kinds; want 27 and 10", len(scenarios), known)
	}
}

// one is a file of one scenario of one rule; its series are s and b.
func one(rule, s, b string) string {
	return fmt.Sprintf(`{"version": 1, "scenarios": [{"id": "X", "period_s": 60,
		"series": {"s": %s, "b": %s}, "rules": [%s], "preflight": {}, "expect": "pass"}]}`, s, b, rule)
}

func TestRules(t *testing.T) {
	const (
		two   = `{"gate": "g", "kind": "max", "metric": "s", "limit": 10, "m": 2, "n": 3, "severity": "fail"}`
		floor = `{"gate": "g", "kind": "min", "metric": "s", "limit": 10, "m": 2, "n": 3, "severity": "hold"}`
		band  = `{"gate": "g", "kind": "band", "metric": "s", "base": "b", "low": 0.6, "high": 1.5, "m": 1, "n": 1, "severity": "fail"}`
		bands = `{"gate": "g", "kind": "band", "metric": "s", "base": "b", "low": 0.6, "high": 1.5, "m": 2, "n": 3, "severity": "fail"}`
		fixed = `{"gate": "g", "kind": "band", "metric": "s", "low": 6, "high": 15, "severity": "fail"}`
		low   = `{"gate": "g", "kind": "band", "metric": "s", "base": "b", "low": 0.6, "severity": "fail"}`
		fresh = `{"gate": "data", "kind": "fresh", "metric": "s", "max_gap": 2, "severity": "hold"}`
		never = `{"gate": "data", "kind": "fresh", "metric": "s", "max_gap": 0, "severity": "escalate"}`
	)
	tests := []struct {
		name string
		rule string
		s, b string
		want string
	}{
		{"max: one bad point of three is none", two, `[1, 11, 1, 1, 11, 1]`, `[]`, "pass"},
		{"max: the limit itself is allowed", two, `[10, 10, 10]`, `[]`, "pass"},
		{"max: two side by side", two, `[1, 11, 11]`, `[]`, "fail:g"},
		{"max: two with one between", two, `[11, 1, 11]`, `[]`, "fail:g"},
		{"max: two with two between", two, `[11, 1, 1, 11]`, `[]`, "pass"},
		{"max: early, and good since", two, `[11, 11, 1, 1, 1, 1, 1, 1]`, `[]`, "fail:g"},
		{"max: a missing point is not beyond", two, `[11, null, 11]`, `[]`, "fail:g"},
		{"max: a missing point takes up its place", two, `[11, null, null, 11]`, `[]`, "pass"},
		{"max: nothing is not beyond", two, `[]`, `[]`, "pass"},
		{"max: only missing points are not beyond", two, `[null, null, null]`, `[]`, "pass"},
		{"max: fewer points than n can be enough", two, `[11, 11]`, `[]`, "fail:g"},
		{"min: below, two of three", floor, `[12, 9, 12, 9]`, `[]`, "hold:g"},
		{"min: above", floor, `[12, 900]`, `[]`, "pass"},
		{"band: inside of every base", band, `[10, 20, 6]`, `[10, 15, 10]`, "pass"},
		{"band: exactly on its edges", band, `[15, 6]`, `[10, 10]`, "pass"},
		{"band: above", band, `[10, 15.1]`, `[10, 10]`, "fail:g"},
		{"band: below", band, `[10, 5.9]`, `[10, 10]`, "fail:g"},
		{"band: of a base of zero nothing but zero is inside", band, `[0, 1]`, `[0, 0]`, "fail:g"},
		{"band: on either side, two of three", bands, `[16, 10, 5]`, `[10, 10, 10]`, "fail:g"},
		{"band: one of three", bands, `[16, 10, 10, 5]`, `[10, 10, 10, 10]`, "pass"},
		{"band: a missing base is not beyond", band, `[99, 99]`, `[null]`, "pass"},
		{"band: without a base", fixed, `[6, 15, 16]`, `[]`, "fail:g"},
		{"band: without an upper side", low, `[1000, 6]`, `[10, 10]`, "pass"},
		{"band: below its only side", low, `[1000, 5]`, `[10, 10]`, "fail:g"},
		{"fresh: as many in a row as allowed", fresh, `[1, null, null, 1, null, null]`, `[]`, "pass"},
		{"fresh: more in a row at the end", fresh, `[1, null, null, null]`, `[]`, "hold:data"},
		{"fresh: more in a row at the beginning", fresh, `[null, null, null, 1]`, `[]`, "hold:data"},
		{"fresh: more in a row in the middle", fresh, `[1, null, null, null, 1, 1, 1, 1, 1, 1]`, `[]`, "hold:data"},
		{"fresh: as many but not in a row", fresh, `[1, null, 1, null, 1, null, 1, null]`, `[]`, "pass"},
		{"fresh: none allowed", never, `[1, null, 1]`, `[]`, "escalate:data"},
		{"fresh: none missing", never, `[1, 1]`, `[]`, "pass"},
		{"several rules, in their order", fresh + "," + two, `[11, 11, null, null, null]`, `[]`, "hold:data,fail:g"},
		{"an unknown kind hides what the others say", two + `, {"gate": "x", "kind": "proj", "any": 1}, {"kind": "rel"}`, `[11, 11]`, `[]`, "unknown:proj"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			scenarios, err := scenario.Parse(strings.NewReader(one(tt.rule, tt.s, tt.b)))
			if err != nil {
				t.Fatal(err)
			}
			if got := scenarios[0].Verdict(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestAnUnknownPreflightRuleComesFirst(t *testing.T) {
	text := strings.Replace(one(`{"kind": "rel"}`, "[]", "[]"), `"preflight": {}`, `"preflight": {"rule": "capacity", "demand": 7600}`, 1)
	scenarios, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := scenarios[0].Verdict(); got != "unknown:capacity" {
		t.Errorf("%s, want unknown:capacity", got)
	}
}

func TestAFileThatIsWrongSaysWhere(t *testing.T) {
	max := `{"gate": "g", "kind": "max", "metric": "s", "limit": 1, "severity": "fail"}`
	good := one(max, "[1]", "[]")
	tests := []struct {
		name     string
		old, new string
		want     string
	}{
		{"no JSON", good, "rollout: orders", "reading scenarios: invalid character 'r' looking for beginning of value"},
		{"text after the end", good, good + good, "reading scenarios: there is more text after the end"},
		{"another version", `"version": 1`, `"version": 2`, "version is 2: only 1 is known"},
		{"an unknown field of the file", `"version"`, `"author": "", "version"`, `reading scenarios: json: unknown field "author"`},
		{"an unknown field of a scenario", `"id"`, `"color": 1, "id"`, `reading scenarios: json: unknown field "color"`},
		{"no id", `"id": "X"`, `"id": ""`, "scenario 1 of 1 has no id"},
		{"nothing expected", `"expect": "pass"`, `"expect": ""`, `scenario X: expect is empty: it must be "pass" or severity:gate, parted by commas`},
		{"no period", `60`, `0`, "scenario X: period_s is 0: it must be 1 or more"},
		{"a preflight without a rule", `"preflight": {}`, `"preflight": {"demand": 1}`, `scenario X: preflight has no "rule": it must name one, or be {}`},
		{"a preflight that is no object", `"preflight": {}`, `"preflight": []`, "scenario X: reading preflight: json: cannot unmarshal array into Go value of type map[string]json.RawMessage"},
		{"a rule without a kind", `"kind": "max"`, `"kind": ""`, "scenario X: rule 1: it has no kind"},
		{"an unknown field of a rule", `"limit"`, `"limt"`, `scenario X: rule 1: json: unknown field "limt"`},
		{"a rule without a gate", `"gate": "g"`, `"gate": ""`, `scenario X: rule 1: gate "", of kind max: it has no gate`},
		{"an unknown severity", `"severity": "fail"`, `"severity": "warn"`, `scenario X: rule 1: gate "g", of kind max: severity is "warn": it must be fail, hold or escalate`},
		{"a metric without a series", `"metric": "s"`, `"metric": "cpu"`, `scenario X: rule 1: gate "g", of kind max: there is no series "cpu"`},
		{"values that are no numbers", `[1]`, `["Mon16:00Z"]`, `scenario X: rule 1: gate "g", of kind max: series "s": json: cannot unmarshal string into Go value of type float64`},
		{"no limit", `"limit": 1, `, ``, `scenario X: rule 1: gate "g", of kind max: the gate has no limit`},
		{"m above n", `"limit": 1`, `"limit": 1, "m": 3, "n": 2`, `scenario X: rule 1: gate "g", of kind max: a breach in 3 of 2 buckets: it must be 1 to N of at most 1440`},
		{"a band of nothing", max, `{"gate": "g", "kind": "band", "metric": "s", "severity": "fail"}`, `scenario X: rule 1: gate "g", of kind band: it needs low, high or both`},
		{"a band upside down", max, `{"gate": "g", "kind": "band", "metric": "s", "low": 2, "high": 1, "severity": "fail"}`, `scenario X: rule 1: gate "g", of kind band: low is above high`},
		{"a base without a series", max, `{"gate": "g", "kind": "band", "metric": "s", "base": "x", "low": 1, "severity": "fail"}`, `scenario X: rule 1: gate "g", of kind band: there is no series "x"`},
		{"no gap", max, `{"gate": "g", "kind": "fresh", "metric": "s", "severity": "fail"}`, `scenario X: rule 1: gate "g", of kind fresh: it needs a max_gap of 0 or more`},
		{"a field of another kind", `"kind": "max"`, `"kind": "fresh"`, `scenario X: rule 1: json: unknown field "limit"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(good, tt.old) {
				t.Fatalf("nothing to replace: %s", tt.old)
			}
			_, err := scenario.Parse(strings.NewReader(strings.Replace(good, tt.old, tt.new, 1)))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTwoScenariosOfOneIDAreRefused(t *testing.T) {
	text := `{"version": 1, "scenarios": [{"id": "X", "period_s": 60, "expect": "pass"}, {"id": "X", "period_s": 60, "expect": "pass"}]}`
	if _, err := scenario.Parse(strings.NewReader(text)); err == nil || err.Error() != "two scenarios have the id X" {
		t.Errorf("error %v, want that two have the id X", err)
	}
}

func TestRunPrintsALineEachAndCountsWhatDiffers(t *testing.T) {
	text := `{"version": 1, "scenarios": [
		{"id": "A", "period_s": 60, "series": {"s": [2]}, "rules": [{"gate": "g", "kind": "max", "metric": "s", "limit": 1, "severity": "fail"}], "expect": "fail:g"},
		{"id": "B", "period_s": 60, "series": {"s": [2]}, "rules": [{"gate": "g", "kind": "max", "metric": "s", "limit": 1, "severity": "fail"}], "expect": "pass"},
		{"id": "C", "period_s": 60, "rules": [{"kind": "rel"}], "expect": "pass"},
		{"id": "D", "period_s": 60, "expect": "pass"}]}`
	scenarios, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	differs := scenario.Run(&out, scenarios)
	if want := "A fail:g\nB fail:g\nC unknown:rel\nD pass\n"; out.String() != want || differs != 2 {
		t.Errorf("printed %q, %d differ; want %q and 2", out.String(), differs, want)
	}
}

func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/scenarios.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(one(`{"gate": "g", "kind": "band", "metric": "s", "base": "b", "low": 1, "m": 1, "n": 1440, "severity": "fail"}`, "[1, null]", "[1]")))
	f.Fuzz(func(t *testing.T, text []byte) {
		scenarios, err := scenario.Parse(strings.NewReader(string(text)))
		if err != nil {
			return
		}
		for _, s := range scenarios {
			if s.Verdict() == "" {
				t.Errorf("no verdict on %q", s.ID)
			}
		}
	})
}
