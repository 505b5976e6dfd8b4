package planfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheExamplePlansAreValidAndReadBackAsTheyAreWritten(t *testing.T) {
	files, err := filepath.Glob("../../deploy/plans/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("found %d example plans (%v), want at least 2", len(files), err)
	}
	schema := compiled(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := Parse(file, text)
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.check(text); err != nil {
				t.Errorf("the schema refuses it: %v", err)
			}
			written, err := Format(plan)
			if err != nil {
				t.Fatal(err)
			}
			readBack(t, plan, written)
		})
	}
}
