package openfeature

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/seed-c8cbbb61/cutover/flags"
)

func TestATaskMovesOnceItsBucketIsInTheShareAndBackWhenItIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := says(at(25))
		p := started(t, s, Options{TaskID: task})
		wantDecision(t, p, false, 25, of.DefaultReason)
		s.becomes(answers{body: at(26)})
		wantDecision(t, p, true, 26, of.TargetingMatchReason)
		wantEvents(t, p, "PROVIDER_CONFIGURATION_CHANGED orders-db-reads")
		s.becomes(answers{body: at(0)})
		wantDecision(t, p, false, 0, of.DefaultReason)
		wantEvents(t, p, "PROVIDER_CONFIGURATION_CHANGED orders-db-reads")
		aWhile()
		wantEvents(t, p)
		if s.tagged != at(0) {
			t.Errorf("sent tag %q: want that of the snapshot it has", s.tagged)
		}
	})
}

func TestAColdTaskUsesItsColdDefaultUntilTheFirstSnapshot(t *testing.T) {
	for _, cold := range []map[string]bool{nil, {reads: false}, {reads: true}} {
		t.Run(fmt.Sprint(cold), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &store{behave: refusing}
				p, err := provider(t, s, Options{TaskID: task, Cold: cold})
				if !errors.Is(err, ErrCold) || !strings.Contains(err.Error(), "connection refused") {
					t.Errorf("Init: %v, want ErrCold and its reason", err)
				}
				wantDecision(t, p, cold[reads], 0, of.DefaultReason)
				if share, ok := p.ShareSeen(reads); ok {
					t.Errorf("share seen %v: want none", share)
				}
				aWhile()
				wantEvents(t, p) // the SDK tells what Init returned
				s.becomes(answers{body: at(26)})
				wantDecision(t, p, true, 26, of.TargetingMatchReason)
				wantEvents(t, p, "PROVIDER_READY", "PROVIDER_CONFIGURATION_CHANGED orders-db-reads")
				if share, ok := p.ShareSeen(reads); !ok || share != 26 {
					t.Errorf("share seen %v, %t; want 26%%", share, ok)
				}
			})
		})
	}
}

func TestAFlagThatCannotBeFollowedKeepsItsLastShare(t *testing.T) {
	threshold := `{"type":"THRESHOLD_ROLLOUT_TYPE","threshold":{"percentage":100,"value":true}}`
	for _, tc := range []struct{ name, body, why string }{
		{"two thresholds", snapshotOf(threshold + "," + threshold), "2 rollouts"},
		{"a segment", snapshotOf(`{"type":"SEGMENT_ROLLOUT_TYPE","segment":{"value":true}}`), "SEGMENT_ROLLOUT_TYPE"},
		{
			"a segment beside the threshold",
			snapshotOf(strings.Replace(threshold, `"threshold"`, `"segment":{},"threshold"`, 1)), "must be one threshold",
		},
		{"a rollout of another time", snapshotOf(`{"type":"MOON_ROLLOUT_TYPE"}`), "MOON_ROLLOUT_TYPE"},
		{"a threshold that answers false", snapshotOf(strings.Replace(threshold, "true", "false", 1)), "answers false"},
		{"a percentage over 100", at(150), "must be at most 100"},
		{"on for everybody else", strings.Replace(at(26), "false", "true", 1), "it is enabled"},
		{"on for everybody", strings.Replace(snapshotOf(""), "false", "true", 1), "it is enabled"},
		{"a variant flag", strings.Replace(at(26), "BOOLEAN", "VARIANT", 1), "must be boolean"},
		{"deleted", `{"flags":[]}`, "no longer has it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := says(at(25))
				p := started(t, s, Options{TaskID: task})
				s.becomes(answers{body: tc.body})
				wantDecision(t, p, false, 25, of.CachedReason)
				wantProblem(t, p, tc.why)
				s.becomes(answers{body: at(26)})
				wantDecision(t, p, true, 26, of.TargetingMatchReason)
				wantEvents(t, p, "PROVIDER_READY", "PROVIDER_CONFIGURATION_CHANGED orders-db-reads")
			})
		})
	}
}

func TestWhatCanOnlyLowerIsTaken(t *testing.T) {
	for name, body := range map[string]string{"no threshold": snapshotOf(""), "less than nothing": at(-1)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := says(at(100))
				p := started(t, s, Options{TaskID: task})
				s.becomes(answers{body: body})
				wantDecision(t, p, false, 0, of.DefaultReason)
				wantEvents(t, p, "PROVIDER_CONFIGURATION_CHANGED orders-db-reads")
			})
		})
	}
}

func TestAFlagThatWasNeverFollowed(t *testing.T) {
	segment := snapshotOf(`{"type":"SEGMENT_ROLLOUT_TYPE","segment":{"value":true}}`)
	for _, tc := range []struct {
		name, body string
		cold       map[string]bool
		value      bool // the fallback is true
		code       string
		event      string
	}{
		{"is not there, and nobody named it", `{"flags":[]}`, nil, true, "FLAG_NOT_FOUND", ""},
		{"is not there, but named", `{"flags":[]}`, map[string]bool{reads: false}, false, "", "the store does not have it"},
		{"has rules, and nobody named it", segment, nil, true, "PARSE_ERROR", ""},
		{"has rules, but is named", segment, map[string]bool{reads: false}, false, "", "SEGMENT_ROLLOUT_TYPE"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := started(t, says(tc.body), Options{TaskID: task, Cold: tc.cold})
				got := evaluate(p, true)
				if got.Value != tc.value || tc.code == "" && got.Error() != nil ||
					tc.code != "" && !strings.Contains(fmt.Sprint(got.Error()), tc.code) {
					t.Errorf("got %t, %v; want %t, %q", got.Value, got.Error(), tc.value, tc.code)
				}
				aWhile()
				if tc.event == "" {
					wantEvents(t, p) // another team's flags in the namespace are no concern of ours
					return
				}
				wantProblem(t, p, tc.event)
			})
		})
	}
}

func TestWithoutATaskTheEvaluationContextNamesOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := says(at(26))
		p := started(t, s, Options{})
		about := of.FlattenedContext{of.TargetingKey: flags.TargetingKey(task)}
		if got := p.BooleanEvaluation(t.Context(), reads, false, about); !got.Value || got.Error() != nil {
			t.Errorf("bucket 25 at 26 %%: %+v, want true", got)
		}
		if got := evaluate(p, true); !got.Value || !strings.Contains(fmt.Sprint(got.Error()), "TARGETING_KEY_MISSING") {
			t.Errorf("nobody asks: %+v, want the fallback and TARGETING_KEY_MISSING", got)
		}
		fixed := started(t, s, Options{TaskID: task})
		about[of.TargetingKey] = flags.TargetingKey(inBucket(99))
		if got := fixed.BooleanEvaluation(t.Context(), reads, false, about); !got.Value {
			t.Error("a task that was fixed was moved by the evaluation context")
		}
	})
}

func TestOnlyBooleanFlags(t *testing.T) {
	p, err := New(Options{URL: "http://127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"text":    p.StringEvaluation(t.Context(), reads, "", nil).Error(),
		"integer": p.IntEvaluation(t.Context(), reads, 0, nil).Error(),
		"float":   p.FloatEvaluation(t.Context(), reads, 0, nil).Error(),
		"object":  p.ObjectEvaluation(t.Context(), reads, nil, nil).Error(),
	} {
		if err == nil || !strings.Contains(err.Error(), "TYPE_MISMATCH") {
			t.Errorf("%s: %v, want TYPE_MISMATCH", name, err)
		}
	}
}
