package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/seed-c8cbbb61/cutover/gates/scenario"
)

type gateTestCmd struct {
	File string `arg:"" help:"File of scenarios."`
}

func (*gateTestCmd) offline() {}

// Run replays scenarios; the verdicts are the output.
func (c *gateTestCmd) Run(s *session) error {
	text, err := os.ReadFile(c.File)
	if err != nil {
		return fmt.Errorf("reading scenarios: %w", err)
	}
	scenarios, err := scenario.Parse(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if differs := scenario.Run(s.out, scenarios); differs > 0 {
		s.errors.print(s.err, []string{fmt.Sprintf("%d of %d differ from what they expect", differs, len(scenarios))})
		return ended(exitRefused)
	}
	return nil
}
