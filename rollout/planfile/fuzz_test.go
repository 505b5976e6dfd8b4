package planfile

import (
	"errors"
	"testing"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// FuzzParse looks for texts that make the parser panic, refuse without saying
// why, or accept what it cannot write and read back, or what the schema refuses.
func FuzzParse(f *testing.F) {
	f.Add([]byte(everyField(f)))
	f.Add([]byte(leastPlan))
	for _, text := range []string{"a: &a [*a]", "a: {<<: {b: 1}}", "- ? a\n", "rollout: !!int 1", "x: |\n  y\n", "\"\\x00\": 1", "%YAML 1.1\n---\na: on\n"} {
		f.Add([]byte(text))
	}
	schema := compiled(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		plan, err := Parse("fuzz.yaml", text)
		if err != nil {
			var invalid rollout.Invalid
			if !errors.As(err, &invalid) || len(invalid) == 0 || len(invalid) > maxProblems+1 {
				t.Fatalf("refused without a reasonable list of problems: %v", err)
			}
			return
		}
		if err := schema.check(text); err != nil {
			t.Fatalf("the schema refuses it: %v", err)
		}
		written, err := Format(plan)
		if err != nil {
			t.Fatal(err)
		}
		readBack(t, plan, written)
	})
}
