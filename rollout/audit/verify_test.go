package audit_test

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
)

// found verifies and returns the damage, without the words.
func found(t *testing.T, records iter.Seq2[audit.Record, error], c audit.Chain) *audit.Damage {
	t.Helper()
	result, err := audit.Verify(records, c)
	if err != nil {
		t.Fatal(err)
	}
	if result.Damage == nil {
		return nil
	}
	if result.Damage.Why == "" || result.Places != result.Checkpoint.Place-c.After.Place {
		t.Errorf("%v after %d places, checkpoint %s", result.Damage, result.Places, result.Checkpoint)
	}
	t.Log(result.Damage)
	return result.Damage
}

func differs(t *testing.T, want, got *audit.Damage) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(audit.Damage{}, "Why")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func swapPlaces(records []audit.Record, a, b int64) {
	records[a-1].Place, records[b-1].Place = b, a
}

// Places 1 to 8; orders has the odd ones, pay the even ones.
func TestTheFirstDamageIsNamed(t *testing.T) {
	text := "words"
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, records []audit.Record, c *audit.Chain) []audit.Record
		want   *audit.Damage
	}{
		{"nothing is wrong", nil, nil},
		{"an event's text was changed", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[4].Body = strings.Replace(r[4].Body, "remark", "praise", 1)
			return r
		}, &audit.Damage{Kind: audit.Edited, Place: 5, Rollout: "orders"}},
		{"an event's text was changed to none", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[4].Body = `[]`
			return r
		}, &audit.Damage{Kind: audit.Edited, Place: 5, Rollout: "orders"}},
		{"an event's text was changed to name a place that is none", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[4].Body = strings.Replace(r[4].Body, `"place":5`, `"place":99`, 1)
			return r
		}, &audit.Damage{Kind: audit.Edited, Place: 5, Rollout: "orders"}},
		{"an event's text was changed to name another's place", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[4].Body = strings.Replace(r[4].Body, `"place":5`, `"place":7`, 1)
			return r
		}, &audit.Damage{Kind: audit.Edited, Place: 5, Rollout: "orders"}},
		{"an event's text was changed to name a place before", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[4].Body = strings.Replace(r[4].Body, `"place":5`, `"place":2`, 1)
			return r
		}, &audit.Damage{Kind: audit.Edited, Place: 5, Rollout: "orders"}},
		{"a hash was changed", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[4].Hash = r[3].Hash
			return r
		}, &audit.Damage{Kind: audit.Edited, Place: 5, Rollout: "orders"}},
		{"the column rollout was changed", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[4].Rollout = "ghost"
			return r
		}, &audit.Damage{Kind: audit.Edited, Place: 5, Rollout: "orders"}},
		{"the column seq was changed", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[4].Seq = -1
			return r
		}, &audit.Damage{Kind: audit.Edited, Place: 5, Rollout: "orders"}},
		{"the column kind was changed", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[4].Kind = "approved"
			return r
		}, &audit.Damage{Kind: audit.Edited, Place: 5, Rollout: "orders"}},
		{"the column at was changed", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[4].At++
			return r
		}, &audit.Damage{Kind: audit.Edited, Place: 5, Rollout: "orders"}},
		{"a request was added", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[4].Request = new("")
			return r
		}, &audit.Damage{Kind: audit.Edited, Place: 5, Rollout: "orders"}},
		{"a request was changed", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[6].Request = &text
			return r
		}, &audit.Damage{Kind: audit.Edited, Place: 7, Rollout: "orders"}},
		{"the first event was removed", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			return r[1:]
		}, &audit.Damage{Kind: audit.Missing, Place: 1}},
		{"an event was removed", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			return slices.Delete(r, 4, 5)
		}, &audit.Damage{Kind: audit.Missing, Place: 5}},
		{"an event was removed, and those after it moved up", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r = slices.Delete(r, 4, 5)
			for i := range r {
				r[i].Place = int64(i) + 1
			}
			return r
		}, &audit.Damage{Kind: audit.Missing, Place: 5}},
		{"the last event was removed", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			return r[:7]
		}, &audit.Damage{Kind: audit.Cut, Place: 8}},
		{"all events were removed", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			return nil
		}, &audit.Damage{Kind: audit.Cut, Place: 1}},
		{"the last events were removed, and the end set back; the tail is remembered", func(_ *testing.T, r []audit.Record, c *audit.Chain) []audit.Record {
			c.Tail, c.Last = new(r[7].Checkpoint()), 6
			return r[:6]
		}, &audit.Damage{Kind: audit.Cut, Place: 7}},
		{"the last events were removed, and the end set back; a checkpoint was kept", func(_ *testing.T, r []audit.Record, c *audit.Chain) []audit.Record {
			c.Checkpoints, c.Last = []audit.Checkpoint{r[2].Checkpoint(), r[7].Checkpoint()}, 6
			return r[:6]
		}, &audit.Damage{Kind: audit.Cut, Place: 7}},
		{"the end was set back, and the events left", func(_ *testing.T, r []audit.Record, c *audit.Chain) []audit.Record {
			c.Last = 6
			return r
		}, &audit.Damage{Kind: audit.Extra, Place: 7, Rollout: "orders"}},
		{"two events were swapped", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			swapPlaces(r, 3, 6)
			return r
		}, &audit.Damage{Kind: audit.Reordered, Place: 3, Rollout: "orders"}},
		{"two neighbours were swapped", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			swapPlaces(r, 7, 8)
			return r
		}, &audit.Damage{Kind: audit.Reordered, Place: 7, Rollout: "orders"}},
		{"the first and the last event were swapped", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			swapPlaces(r, 1, 8)
			return r
		}, &audit.Damage{Kind: audit.Reordered, Place: 1, Rollout: "orders"}},
		{"only the texts were swapped", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[2].Body, r[4].Body = r[4].Body, r[2].Body
			return r
		}, &audit.Damage{Kind: audit.Reordered, Place: 3, Rollout: "orders"}},
		{"an event was moved to beyond the end", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[2].Place = 99
			return r
		}, &audit.Damage{Kind: audit.Reordered, Place: 3, Rollout: "orders"}},
		{"an event was overwritten with the text of another", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[2].Body = r[4].Body
			return r
		}, &audit.Damage{Kind: audit.Edited, Place: 3, Rollout: "orders"}},
		{"the first of two damages is named", func(_ *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[5].Kind = "approved"
			return slices.Delete(r, 6, 7)
		}, &audit.Damage{Kind: audit.Edited, Place: 6, Rollout: "pay"}},
		{"the last event was changed with its hash; the tail is remembered", func(t *testing.T, r []audit.Record, c *audit.Chain) []audit.Record {
			c.Tail = new(r[7].Checkpoint())
			r[7].Body = strings.Replace(r[7].Body, "remark", "praise", 1)
			return again(t, r)
		}, &audit.Damage{Kind: audit.Rewritten, Place: 8}},
		{"an older program has added an event, and the tail stayed behind", func(_ *testing.T, r []audit.Record, c *audit.Chain) []audit.Record {
			c.Tail = new(r[6].Checkpoint())
			return r
		}, nil},
		{"the tail that stayed behind is another", func(_ *testing.T, r []audit.Record, c *audit.Chain) []audit.Record {
			c.Tail = &audit.Checkpoint{Version: 1, Place: 7, Hash: r[1].Hash}
			return r
		}, &audit.Damage{Kind: audit.Rewritten, Place: 7}},
		{"an event was taken out of a rollout, and everything computed anew", func(t *testing.T, r []audit.Record, c *audit.Chain) []audit.Record {
			c.Last = 7
			return again(t, slices.Delete(r, 4, 5)) // orders' third
		}, &audit.Damage{Kind: audit.Missing, Place: 6, Rollout: "orders"}},
		{"a rollout's first event was taken out, and everything computed anew", func(t *testing.T, r []audit.Record, c *audit.Chain) []audit.Record {
			c.Last = 7
			return again(t, slices.Delete(r, 1, 2))
		}, &audit.Damage{Kind: audit.Missing, Place: 3, Rollout: "pay"}},
		{"two events of a rollout were swapped, and everything computed anew", func(t *testing.T, r []audit.Record, _ *audit.Chain) []audit.Record {
			r[4], r[6] = r[6], r[4]
			return again(t, r)
		}, &audit.Damage{Kind: audit.Missing, Place: 5, Rollout: "orders"}},
		{"an event was told twice, and everything computed anew", func(t *testing.T, r []audit.Record, c *audit.Chain) []audit.Record {
			c.Last = 9
			return again(t, slices.Insert(r, 4, r[2]))
		}, &audit.Damage{Kind: audit.Reordered, Place: 5, Rollout: "orders"}},
		{"what was made no event, and its hash computed anew", func(t *testing.T, r []audit.Record, c *audit.Chain) []audit.Record {
			r = r[:1]
			c.Last = 1
			r[0].Body, r[0].Hash = `[]`, sum("[]")
			return r
		}, &audit.Damage{Kind: audit.Unreadable, Place: 1, Rollout: "orders"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			records, c := chain(t, 8), audit.Chain{Last: 8}
			if tt.damage != nil {
				records = tt.damage(t, records, &c)
			}
			differs(t, tt.want, found(t, byPlace(records), c))
		})
	}
}

// This is what a chain alone cannot show.
func TestWhoComputesEverythingAnewIsFoundByACheckpointOnly(t *testing.T) {
	records := chain(t, 8)
	kept := []audit.Checkpoint{records[2].Checkpoint(), records[5].Checkpoint(), records[7].Checkpoint()}
	records[4].Body = strings.Replace(records[4].Body, "remark", "praise", 1)
	records = again(t, records)
	c := audit.Chain{Last: 8, Tail: new(records[7].Checkpoint())}

	differs(t, nil, found(t, byPlace(records), c))

	c.Checkpoints = kept[:1] // of before
	differs(t, nil, found(t, byPlace(records), c))
	c.Checkpoints = kept
	differs(t, &audit.Damage{Kind: audit.Rewritten, Place: 6}, found(t, byPlace(records), c))
}

func TestGoodEventsAreHandedOnInOrderUpToTheDamage(t *testing.T) {
	records := chain(t, 5)
	records[3].Kind = "approved"
	var places []int64
	result, err := audit.Verify(byPlace(records), audit.Chain{Last: 5, Good: func(e *rollout.Event) { places = append(places, e.Place) }})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{1, 2, 3}, places); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if diff := cmp.Diff(records[2].Checkpoint(), result.Checkpoint); diff != "" || result.Places != 3 {
		t.Errorf("%d places; want 3; want -, got +:\n%s", result.Places, diff)
	}
}

func TestWhatCannotBeReadOrComparedIsNoDamage(t *testing.T) {
	broken := errors.New("the line is down")
	records := func(yield func(audit.Record, error) bool) {
		for _, r := range chain(t, 2) {
			if !yield(r, nil) {
				return
			}
		}
		yield(audit.Record{}, broken)
	}
	if result, err := audit.Verify(records, audit.Chain{Last: 8}); !errors.Is(err, broken) || result.Damage != nil || result.Places != 2 {
		t.Errorf("%+v, error %v; want two places and the error", result, err)
	}
	eight := chain(t, 8)
	c := audit.Chain{After: eight[4].Checkpoint(), Last: 8, Checkpoints: []audit.Checkpoint{eight[2].Checkpoint()}}
	if result, err := audit.Verify(byPlace(eight[5:]), c); err == nil || !strings.Contains(err.Error(), "cannot be compared") || result.Damage != nil {
		t.Errorf("%+v, error %v; want that it cannot be compared", result, err)
	}
}

func TestCheckpointIsReadAsItIsWritten(t *testing.T) {
	c := chain(t, 3)[2].Checkpoint()
	got, err := audit.ParseCheckpoint(c.String())
	if err != nil {
		t.Fatal(err)
	}
	c.At = got.At // which the text leaves out
	if diff := cmp.Diff(c, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if got, err := audit.ParseCheckpoint("0:"); err != nil || got.Place != 0 {
		t.Errorf("of an empty journal: %+v, %v", got, err)
	}
	digits := strings.Repeat("ab", 32)
	for _, text := range []string{"", "3", "3:", ":" + digits, "-3:" + digits, "0:" + digits, "3:" + digits + "ab", "3:" + digits[2:], "x:" + digits, "3:" + strings.Repeat("xy", 32), "99999999999999999999:" + digits} {
		if got, err := audit.ParseCheckpoint(text); err == nil || !strings.Contains(err.Error(), "PLACE:HASH") {
			t.Errorf("%q: %+v, error %v", text, got, err)
		}
	}
}

func TestFieldsOfANewerProgramAreCoveredAndPassedOver(t *testing.T) {
	records := chain(t, 1)
	body := strings.Replace(records[0].Body, "{", `{"warp":{"factor":9},`, 1)
	records[0].Body = body
	differs(t, &audit.Damage{Kind: audit.Edited, Place: 1, Rollout: "orders"}, found(t, byPlace(records), audit.Chain{Last: 1}))
	records[0].Hash = sum(body)
	differs(t, nil, found(t, byPlace(records), audit.Chain{Last: 1}))
}
