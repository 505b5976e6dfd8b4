package planfile

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// unit is what a metric can be in. Limits in another unit of the same quantity
// are converted; readings never are.
type unit struct {
	name     string
	suffix   string // behind a limit's number
	quantity string
	size     float64 // in the smallest unit of the quantity
}

// units returns all of them; count, and no unit at all, have plain numbers.
func units() []unit {
	return []unit{
		{"us", "us", "time", 1},
		{"ms", "ms", "time", 1e3},
		{"s", "s", "time", 1e6},
		{"m", "m", "time", 60e6},
		{"h", "h", "time", 3600e6},
		{"bytes", "bytes", "size", 1},
		{"KB", "KB", "size", 1e3},
		{"MB", "MB", "size", 1e6},
		{"GB", "GB", "size", 1e9},
		{"KiB", "KiB", "size", 1 << 10},
		{"MiB", "MiB", "size", 1 << 20},
		{"GiB", "GiB", "size", 1 << 30},
		{"bytes/s", "bytes/s", "rate of size", 1},
		{"KB/s", "KB/s", "rate of size", 1e3},
		{"MB/s", "MB/s", "rate of size", 1e6},
		{"GB/s", "GB/s", "rate of size", 1e9},
		{"percent", "%", "percentage", 1},
		{"count/s", "/s", "rate", 1},
		{"count", "", "", 1},
		{"", "", "", 1},
	}
}

func unitNamed(name string) (unit, bool) {
	for _, u := range units() {
		if u.name == name {
			return u, true
		}
	}
	return unit{}, false
}

// example is a limit as it has to be written for a metric.
func (u unit) example() string { return "50" + u.suffix }

// unit reads a metric's unit.
func (o *object) unit(name string) string {
	text := o.text(name, "")
	if _, ok := unitNamed(text); !ok || text == "" && o.has(name) {
		var names []string
		for _, u := range units() {
			if u.name != "" {
				names = append(names, u.name)
			}
		}
		o.wrong(name, "must be one of "+strings.Join(names, ", "))
	}
	return text
}

// limit reads a gate's condition, in the unit of its metric.
func (o *object) limit(name, unitName string) gates.Limit {
	limit := gates.Limit{M: 2, N: 3}
	in, known := unitNamed(unitName)
	o.object(name, func(l *object) {
		limit.Above = l.edge("above", in, known)
		limit.Below = l.edge("below", in, known)
		limit.M, limit.N = l.buckets("for", limit.M, limit.N)
	})
	return limit
}

var amountPattern = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?)(.*)$`)

// edge reads one side of a limit. If it is wrong, it is NaN, which is neither
// missing nor on the wrong side of the other one.
func (o *object) edge(name string, in unit, known bool) *float64 {
	n := o.take(name)
	if n == nil {
		return nil
	}
	edge := math.NaN()
	if !known {
		o.silence(name) // the metric's unit is the problem
		return &edge
	}
	value, allowed := amount(n, in)
	if allowed != "" {
		o.wrong(name, allowed)
		return &edge
	}
	return &value
}

// amount returns a number in a unit, or what would be allowed.
func amount(n *yaml.Node, in unit) (value float64, allowed string) {
	parts := amountPattern.FindStringSubmatch(n.Value)
	if n.Kind != yaml.ScalarNode || parts == nil {
		return 0, "must be a finite number in the unit of the metric, such as " + in.example()
	}
	value, err := strconv.ParseFloat(parts[1], 64)
	if err != nil {
		return 0, "must be a finite number in the unit of the metric, such as " + in.example()
	}
	quoted := n.Tag == "!!str" && parts[2] == ""
	switch {
	case in.suffix == "" && (parts[2] != "" || quoted):
		return 0, fmt.Sprintf("must be a plain number such as 50: %s", described(in))
	case in.suffix != "" && parts[2] == "":
		return 0, fmt.Sprintf("must have its unit, such as %s: %s", in.example(), described(in))
	}
	if parts[2] == in.suffix {
		return value, ""
	}
	for _, u := range units() {
		if u.suffix == parts[2] && u.quantity == in.quantity {
			return value * u.size / in.size, ""
		}
	}
	return 0, fmt.Sprintf("must be a %s such as %s: %s", in.quantity, in.example(), described(in))
}

func described(in unit) string {
	if in.name == "" {
		return "the metric has no unit; give it one by metric.unit if it has"
	}
	return "the metric is in " + in.name
}

var bucketsPattern = regexp.MustCompile(`^([0-9]{1,3}) of ([0-9]{1,3})$`)

// buckets reads M of N.
func (o *object) buckets(name string, m, n int) (int, int) {
	const allowed = "must be M of N buckets, such as 2 of 3"
	text, ok := o.scalar(name, allowed, "!!str")
	if !ok {
		return m, n
	}
	parts := bucketsPattern.FindStringSubmatch(text)
	if parts == nil {
		o.wrong(name, allowed)
		return m, n
	}
	m, _ = strconv.Atoi(parts[1]) // the pattern lets only small numbers through
	n, _ = strconv.Atoi(parts[2])
	return m, n
}

// formatEdge writes one side of a limit, in the unit of the metric.
func formatEdge(edge *float64, unitName string) *yaml.Node {
	if edge == nil {
		return nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: rollout.FormatLimit(*edge, unitName)}
}
