package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestACommandAloneIsWhatItIsAmongAll holds the grammar of each command to that
// of all commands.
func TestACommandAloneIsWhatItIsAmongAll(t *testing.T) {
	for _, node := range newParser(&cli{}, streams{}).Model.Leaves(false) {
		words := strings.Fields(commandOf(node))
		alone, _ := narrow(&cli{}, words, streams{})
		if alone == nil {
			t.Errorf("%v is not found", words)
			continue
		}
		at := walk(alone.Model.Node, words).node
		if diff := cmp.Diff(node.Summary(), at.Summary()); diff != "" || len(at.Flags) != len(node.Flags) {
			t.Errorf("%v is another alone:\n%s", words, diff)
		}
	}
}

func TestACommandLineIsReadAsByTheWholeGrammar(t *testing.T) {
	for _, line := range []string{
		"rollback a --to writes:0 --to reads:10 -y", "advance a --stage reads:50 --wait 10m", "wait a --for state=held --timeout 1m",
		"plan validate a.yaml b.yaml", "quiet orders --over", "profile use b", "list -o json --state held,baking", "hold-all --reason x",
		"-o json list", "status", "status a b", "rollback a --to x", "promote a", "plan", "", "__complete -- pl",
	} {
		var narrow, whole cli
		args := strings.Fields(line)
		a, errA := parse(&narrow, args, streams{})
		b, errB := newParser(&whole, streams{}).Parse(args)
		if (errA == nil) != (errB == nil) || errA != nil && errA.Error() != errB.Error() {
			t.Errorf("%q: %v, and by the whole grammar %v", line, errA, errB)
			continue
		}
		if errA != nil {
			continue
		}
		all := cmp.Exporter(func(reflect.Type) bool { return true })
		if diff := cmp.Diff(b.Selected().Target.Interface(), a.Selected().Target.Interface(), all); diff != "" || a.Selected().Path() != b.Selected().Path() {
			t.Errorf("%q is %s, and by the whole grammar %s:\n%s", line, a.Selected().Path(), b.Selected().Path(), diff)
		}
		if diff := cmp.Diff(whole.Options, narrow.Options, all); diff != "" {
			t.Errorf("%q is read otherwise:\n%s", line, diff)
		}
	}
}
