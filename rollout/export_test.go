package rollout

import (
	"cmp"
	"fmt"
	"strings"
)

// TermFields are the fields that the rules of amendments know.
func TermFields() []string {
	var fields []string
	for _, t := range terms() {
		fields = append(fields, t.field)
	}
	return fields
}

// TermTable is the rules of amendments as the guide has them; fields in a row
// that are alike share it.
func TermTable() string {
	var b strings.Builder
	b.WriteString("| field | tightens | loosens |\n|---|---|---|\n")
	var fields []string
	all := terms()
	for i, t := range all {
		fields = append(fields, "`"+t.field+"`")
		if i+1 < len(all) && all[i+1].stricter == t.stricter && all[i+1].tightens == t.tightens && all[i+1].loosens == t.loosens {
			continue
		}
		tightens, loosens := cmp.Or(t.tightens, "–"), t.loosens
		switch t.stricter {
		case either:
			tightens, loosens = "neutral", "neutral"
		case fixed:
			tightens, loosens = "fixed", "fixed"
		default:
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Join(fields, ", "), tightens, loosens)
		fields = nil
	}
	return b.String()
}
