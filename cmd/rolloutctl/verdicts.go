package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-c8cbbb61/cutover/gates"
)

// gates are the gates with their verdicts, all of them or those that do not
// pass; what does not pass says why.
func (p *page) gates(all bool) []string {
	if len(p.Verdicts) == 0 || p.State.Plan == nil {
		return nil
	}
	allowed := 0
	rows := [][]string{{"", "GATE", "VERDICT", " VALUE", " LIMIT", " MARGIN", " AGE", "ON BREACH", p.sparkHead()}}
	var whys []string
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		if v.Allows() {
			allowed++
		}
		if v.Result == gates.Pass && !all {
			continue
		}
		row := []string{p.verdictSign(v), v.Gate, verdictWords(v), p.value(v), "", "", p.age(v), "", ""}
		if i < len(p.State.Plan.Gates) {
			g := &p.State.Plan.Gates[i]
			row[4], row[5], row[7], row[8] = p.limit(g), margin(v, g), string(g.OnBreach), p.spark(g)
		}
		rows = append(rows, row)
		if why := strings.TrimPrefix(string(v.Cause)+": "+v.Why, ": "); v.Result != gates.Pass {
			whys = append(whys, "    "+v.Gate+": "+strings.TrimSuffix(why, ": "))
		}
	}
	head := fmt.Sprintf("GATES   %d of %d let a share rise", allowed, len(p.Verdicts))
	if len(rows) == 1 {
		return []string{head}
	}
	return slices.Concat([]string{head}, table("  ", rows), whys)
}

func (p *page) verdictSign(v *gates.Verdict) string {
	switch v.Result {
	case gates.Pass:
		return p.ok
	case gates.Marginal:
		return p.near
	case gates.Fail:
		return p.bad
	default:
		return p.unknown
	}
}

// verdictWords is the verdict in a word or two.
func verdictWords(v *gates.Verdict) string {
	if v.Breach {
		return string(v.Result) + ", breach"
	}
	return string(v.Result)
}

func (p *page) value(v *gates.Verdict) string {
	if v.Newest.IsZero() {
		return "-"
	}
	return quantity(v.Value, v.Unit)
}

func (p *page) age(v *gates.Verdict) string {
	if v.Newest.IsZero() {
		return "-"
	}
	return span(v.Age)
}

// limit is where a value must stay.
func (p *page) limit(g *gates.Gate) string {
	above, below := g.Limit.Above, g.Limit.Below
	switch {
	case above != nil && below != nil:
		return quantity(*below, "") + "…" + quantity(*above, g.Metric.Unit)
	case above != nil:
		return p.atMost + " " + quantity(*above, g.Metric.Unit)
	case below != nil:
		return p.atLeast + " " + quantity(*below, g.Metric.Unit)
	default:
		return "-"
	}
}

// margin is how far a value is from the nearest limit, in percent of that limit.
func margin(v *gates.Verdict, g *gates.Gate) string {
	if v.Newest.IsZero() || v.Result == gates.Inconclusive {
		return "-"
	}
	nearest := math.Inf(1)
	if limit := g.Limit.Above; limit != nil && *limit != 0 {
		nearest = min(nearest, (*limit-v.Value)/math.Abs(*limit))
	}
	if limit := g.Limit.Below; limit != nil && *limit != 0 {
		nearest = min(nearest, (v.Value-*limit)/math.Abs(*limit))
	}
	if math.IsInf(nearest, 0) || math.IsNaN(nearest) {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*nearest)
}

// quantity writes a value with its unit, to four digits.
func quantity(value float64, unit string) string {
	text := strconv.FormatFloat(value, 'g', 4, 64)
	if size := math.Abs(value); size >= 9999.5 && size < 1e15 {
		text = strconv.FormatFloat(math.Round(value), 'f', -1, 64)
	}
	switch unit {
	case "", "count":
		return text
	case "percent":
		return text + "%"
	default:
		return text + " " + unit
	}
}
