package planfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// MaxSize is how many bytes a plan file may have.
const MaxSize = 1 << 20

// Parse reads a plan from YAML; name is that of the file, for the error. If the
// plan is refused, the error wraps [rollout.Invalid] with all problems, by line.
func Parse(name string, text []byte) (*rollout.Plan, error) {
	root, problem := load(text)
	if problem != nil {
		return nil, refused(name, rollout.Invalid{*problem})
	}
	d := document{
		places: make(map[string]place),
		failed: make(map[string]bool),
		origin: make(map[string]string),
	}
	d.survey("", root, 0)
	var plan *rollout.Plan
	if !d.failed["plan"] {
		plan = d.plan(root)
		d.validate(plan)
	}
	if len(d.problems) > 0 {
		slices.SortStableFunc(d.problems, func(a, b rollout.Problem) int { return a.Line - b.Line })
		if d.more {
			d.problems = append(d.problems, *whole(d.problems[len(d.problems)-1].Line, "has more problems than these"))
		}
		return nil, refused(name, d.problems)
	}
	return plan, nil
}

func refused(name string, problems rollout.Invalid) error {
	return fmt.Errorf("reading plan %s:\n%w", name, problems)
}

// load returns the one document of a file, a mapping.
func load(text []byte) (*yaml.Node, *rollout.Problem) {
	if len(text) > MaxSize {
		return nil, whole(1, "must be at most 1 MiB, not "+strconv.Itoa(len(text))+" bytes")
	}
	if problem := legible(text); problem != nil {
		return nil, problem
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil, whole(1, "must not be empty")
	case err != nil:
		return nil, malformed(text, err)
	}
	root := first.Content[0]
	switch {
	case isNull(root):
		return nil, whole(1, "must not be empty")
	case root.Kind != yaml.MappingNode:
		return nil, whole(root.Line, "must be a mapping of fields such as rollout, owner and lanes")
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, whole(second.Line, "must be the only document of its file; put the next plan into another file")
	case !errors.Is(err, io.EOF):
		return nil, malformed(text, err)
	}
	return root, nil
}

// whole is a problem of the file as a whole.
func whole(line int, allowed string) *rollout.Problem {
	return &rollout.Problem{Field: "plan", Allowed: allowed, Line: line}
}

// legible finds bytes that no text file should have.
func legible(text []byte) *rollout.Problem {
	line := 1
	for rest := text; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			return whole(line, fmt.Sprintf("must be UTF-8 text, without the byte %#02x", rest[0]))
		case r == '\n':
			line++
		case unicode.IsControl(r) && r != '\t' && r != '\r':
			return whole(line, fmt.Sprintf("must be text without control characters such as %U", r))
		}
		rest = rest[size:]
	}
	return nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?`)

// malformed tells what the YAML library found, and where.
func malformed(text []byte, err error) *rollout.Problem {
	line := 0
	for indented := range strings.Lines(string(text)) {
		line++
		if strings.Contains(indented[:len(indented)-len(strings.TrimLeft(indented, " \t"))], "\t") {
			return whole(line, "must be indented by spaces: YAML allows no tab there")
		}
	}
	found := yamlLine.FindStringSubmatch(err.Error())
	if found == nil {
		found = []string{"", ""}
	}
	what := strings.TrimPrefix(err.Error(), found[0])
	if line, err = strconv.Atoi(found[1]); err != nil {
		line = 1 // the library does not mention its first line
	} else if strings.HasPrefix(what, "did not find expected") {
		line++ // these come from its parser, which counts lines from 0, and begin the block at fault
		what += " in the block that begins here; look at indentation, commas and brackets"
	}
	return whole(line, "must be valid YAML: "+what)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
