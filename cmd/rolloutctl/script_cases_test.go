package main

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// outcomes are how a command can end, with the line of a script that shows it.
var outcomes = map[string]string{
	"success":  `(exec|exits [78]) rolloutctl (-\S+ )*%s\b`,
	"refusal":  `exits 6 rolloutctl %s\b`,
	"conflict": `exits 5 rolloutctl %s\b`,
	"offline":  `exits 10 rolloutctl %s\b`,
	"unasked":  `exits 2 rolloutctl %s\b`, // no terminal, and no flag that answers
}

// without says which outcomes a command does not have, and why.
func without(node *kong.Node) map[string]string {
	no := map[string]string{}
	if group := node.ClosestGroup(); group != nil && slices.Contains([]string{"Look", "Wait", "Setup"}, group.Title) {
		no["refusal"], no["conflict"] = "it changes nothing", "it changes nothing"
	}
	if asks := asksOf(node); asks == "" || strings.HasPrefix(asks, "on a terminal only") {
		no["unasked"] = "it never fails for want of an answer"
	}
	if _, is := reflect.TypeAssert[offline](node.Target.Addr()); is {
		for _, outcome := range []string{"refusal", "conflict", "offline"} {
			no[outcome] = "it asks no server"
		}
	}
	maps.Copy(no, exceptions()[commandOf(node)])
	return no
}

// exceptions are outcomes that single commands do not have.
func exceptions() map[string]map[string]string {
	looks := map[string]string{"refusal": "it changes nothing", "conflict": "it changes nothing"}
	house := map[string]string{"conflict": "it is about no rollout, and so has no revision"}
	return map[string]map[string]string{
		"version":       {"offline": "it says so, and ends well"},
		"preflight":     {"conflict": "it changes nothing"},
		"plan show":     looks,
		"plan versions": looks,
		"plan diff":     looks,
		"freeze list":   looks,
		"quiet list":    looks,
		"freeze add":    house,
		"freeze lift":   house,
		"quiet say":     house,
		"hold-all":      house,
		"release-all":   house,
	}
}

func commandOf(node *kong.Node) string { return strings.TrimPrefix(node.FullPath(), "rolloutctl ") }

// TestEveryCommandHasItsTranscripts holds that some script of testdata shows
// each outcome that a command can have, and what is said then.
func TestEveryCommandHasItsTranscripts(t *testing.T) {
	var text strings.Builder
	scripts, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts: ", err)
	}
	for _, script := range scripts {
		content, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(content)
	}
	for _, node := range newParser(&cli{}, streams{}).Model.Leaves(true) {
		no := without(node)
		for outcome, line := range outcomes {
			// What is said must be looked at in one of the next lines.
			pattern := `(?m)^` + strings.Replace(line, "%s", regexp.QuoteMeta(commandOf(node)), 1) + `.*\n(.*\n){0,2}?(! )?(stdout|stderr|cmp|ttyout|hears)`
			shown := regexp.MustCompile(pattern).MatchString(text.String())
			if _, exempt := no[outcome]; !shown && !exempt {
				t.Errorf("no script shows %s of %s", outcome, commandOf(node))
			}
		}
	}
}
