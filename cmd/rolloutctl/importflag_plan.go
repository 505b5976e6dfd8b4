package main

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// defaultGates watch what the tasks themselves report: they need no
// configuration, and one of them sees a target that only stalls.
const defaultGates = `
- name: worst-wait
  source: tasks
  metric: {name: worst_wait_ms, unit: ms, target: true, stat: Maximum}
  limit: {above: 500ms, for: 2 of 3}
  absent: not_started
  on_breach: zero
- name: failed-opens
  source: tasks
  metric: {name: failed_opens, per: second}
  limit: {above: 1, for: 2 of 3}
  on_breach: zero
  scope: lane
`

// least is the plan as far as it has no defaults.
func (c *planImportCmd) least(lanes []flagFound) ([]byte, error) {
	type fields = map[string]any
	var services, laneTexts []fields
	var names []string
	for _, one := range c.Service {
		services = append(services, fields{"name": one.Name, "tasks": one.Tasks, "pool_max": one.PoolMax})
		names = append(names, one.Name)
	}
	for _, lane := range lanes {
		laneTexts = append(laneTexts, fields{
			"name": lane.Lane, "class": lane.Lane, "services": names,
			"flag": fields{"key": lane.Flag.Name, "namespace": lane.Flag.Namespace},
		})
	}
	var gates []fields
	if err := yaml.Unmarshal([]byte(defaultGates), &gates); err != nil {
		return nil, fmt.Errorf("the gates by default: %w", err)
	}
	endpoint := func(e endpointArg) fields { return fields{"host": e.Host, "port": e.Port, "kind": e.Kind} }
	text, err := yaml.Marshal(fields{
		"rollout": c.Rollout, "owner": c.Owner, "kind": rollout.SameData,
		"database": fields{"name": c.Database.Name, "engine": c.Database.Engine},
		"source":   endpoint(c.Source), "target": endpoint(c.Target),
		"services": services, "lanes": laneTexts, "gates": gates,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the plan: %w", err)
	}
	return text, nil
}

// option names what a field of the plan was made of.
func (c *planImportCmd) option(field string) string {
	for _, from := range []struct{ field, option string }{
		{"rollout", "--rollout"},
		{"owner", "--owner"},
		{"database.", "--database"},
		{"source", "--source"},
		{"target", "--target"},
		{"services", "--service"},
		{"lanes[0].flag", "--flag or --as"},
		{"lanes[1].flag", "--writes-flag or --writes-as"},
	} {
		if strings.HasPrefix(field, from.field) {
			return from.option + " (" + field + ")"
		}
	}
	return field
}
