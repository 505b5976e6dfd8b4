package controller_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
)

// byHand has another hand raise the reads, as it is before there was Cutover;
// adoptAt then takes them over at a share.
func (h *house) byHand(share flags.Share) {
	h.t.Helper()
	if _, err := h.Plan(h.t.Context(), plan(), rollout.Command{By: "ann", Surface: "cli"}); err != nil {
		h.t.Fatal(err)
	}
	h.store.Put(keys[0], share)
	time.Sleep(15 * time.Minute)
}

func (h *house) adoptAt(shares ...rollout.LaneShare) error {
	_, err := h.Do(h.t.Context(), "orders", rollout.Command{Verb: rollout.Adopt, By: "ann", Surface: "cli", To: shares})
	return err
}

func reads(share flags.Share) rollout.LaneShare {
	return rollout.LaneShare{Lane: "reads", Share: share}
}

func writes(share flags.Share) rollout.LaneShare {
	return rollout.LaneShare{Lane: "writes", Share: share}
}

// revisions are those of both flags: they change with every write.
func (h *house) revisions() [2]string {
	var both [2]string
	for i, key := range keys {
		s, err := h.store.Read(h.t.Context(), key)
		if err != nil {
			h.t.Fatal(err)
		}
		both[i] = s.Revision
	}
	return both
}

func TestAdoptionChangesNoFlagAndStartsHeld(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.byHand(25)
		before := h.revisions()
		if err := h.adoptAt(reads(25)); err != nil {
			t.Fatal(err)
		}
		h.until(rollout.Held, 10*time.Minute)
		time.Sleep(3 * time.Hour)
		s := h.state()
		if s.Phase != rollout.Held || s.Lanes[0].Intended != 25 || s.Lanes[1].Intended != 0 {
			t.Errorf("it is %s at %v and %v", s.Phase, s.Lanes[0].Intended, s.Lanes[1].Intended)
		}
		if after := h.revisions(); after != before {
			t.Errorf("flags were written: %v became %v", before, after)
		}
		if !s.Tainted || !s.TaintedSince.IsZero() {
			t.Errorf("a baseline could hold the time since the first raise: tainted %v since %v", s.Tainted, s.TaintedSince)
		}
	})
}

func TestWhatWasAdoptedIsProvenAndBakesInFullBeforeItRises(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.byHand(25)
		if err := h.adoptAt(reads(25)); err != nil {
			t.Fatal(err)
		}
		h.until(rollout.Held, 10*time.Minute)
		resumed := time.Now()
		h.do(rollout.Resume)
		h.at(0, 50, time.Hour)
		settled := time.Time{}
		for _, e := range h.events() {
			if e.Kind == rollout.Settled && settled.IsZero() {
				settled = e.At
			}
		}
		if settled.Before(resumed) || time.Since(settled) < 3*time.Minute {
			t.Errorf("resumed %v, settled %v, raised %v: it did not bake in full", resumed, settled, time.Now())
		}
		h.until(rollout.Soaking, 6*time.Hour)
	})
}

func TestAdoptionAt100PercentGoesOnWithTheWrites(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.byHand(100)
		if err := h.adoptAt(reads(100)); err != nil {
			t.Fatal(err)
		}
		h.until(rollout.Held, 10*time.Minute)
		h.do(rollout.Resume)
		h.at(1, 5, time.Hour)
	})
}

func TestABreachRollsBackWhatWasAdopted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.byHand(25)
		if err := h.adoptAt(reads(25)); err != nil {
			t.Fatal(err)
		}
		h.until(rollout.Held, 10*time.Minute)
		time.Sleep(10 * time.Minute)
		h.metrics.worsen()
		h.at(0, 0, 6*time.Minute)
	})
}

func TestAnAdoptionThatIsNotSoAsSaidFails(t *testing.T) {
	for name, test := range map[string]struct {
		is, said flags.Share
		says     string
	}{
		"the flag is higher":                 {50, 25, "is at 50%, not at 25% as was said"},
		"the flag is lower":                  {5, 25, "is at 5%, not at 25% as was said"},
		"a start where the flag has a share": {25, 0, "it must be at 0% to start, or be taken over at 25%"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := build(t)
				h.byHand(test.is)
				before := h.revisions()
				if test.said == 0 {
					h.do(rollout.Start)
				} else if err := h.adoptAt(reads(test.said)); err != nil {
					t.Fatal(err)
				}
				h.until(rollout.Draft, 20*time.Minute)
				s := h.state()
				if len(s.Holds) > 0 || s.Tainted {
					t.Errorf("something of the attempt stays: %+v", s.Holds)
				}
				var why strings.Builder
				for _, c := range s.Report.Checks {
					why.WriteString(c.Why + "\n")
				}
				if !strings.Contains(why.String(), test.says) {
					t.Errorf("the report does not say %q:\n%s", test.says, why.String())
				}
				if after := h.revisions(); after != before {
					t.Errorf("flags were written")
				}
			})
		})
	}
}

func TestAdoptionRefusesWhatNoWalkLeadsTo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.byHand(25)
		for name, test := range map[string]struct {
			shares []rollout.LaneShare
			says   string
		}{
			"nothing":             {nil, "nothing is above 0%"},
			"zero":                {[]rollout.LaneShare{reads(0)}, "nothing is above 0%"},
			"no such lane":        {[]rollout.LaneShare{{Lane: "red", Share: 5}}, `no lane "red"`},
			"writes before reads": {[]rollout.LaneShare{reads(25), writes(5)}, "lanes rise one after the other"},
			"no share":            {[]rollout.LaneShare{reads(101)}, "must be from 0% to 100%"},
		} {
			err := h.adoptAt(test.shares...)
			if !errors.As(err, new(rollout.Refusal)) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if phase := h.state().Phase; phase != rollout.Draft {
			t.Errorf("it is %s", phase)
		}
	})
}

// A completed rollout's flags say so before its database may be another's.
func TestCompletionIsSealedIntoTheFlags(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.until(rollout.Soaking, 8*time.Hour)
		time.Sleep(3 * time.Hour)
		for _, key := range keys {
			if s, err := h.store.Read(t.Context(), key); err != nil || s.Stamp.Safe != flags.None {
				t.Errorf("flag %s is safe at %v before completion (%v)", key, s.Stamp.Safe, err)
			}
		}
		h.do(rollout.Approve)
		h.do(rollout.Complete)
		time.Sleep(time.Minute)
		if s := h.state(); !s.Sealed || s.Phase != rollout.Completed {
			t.Errorf("it is %s, sealed: %v", s.Phase, s.Sealed)
		}
		for _, key := range keys {
			s, err := h.store.Read(t.Context(), key)
			if err != nil || s.Share != flags.All || s.Stamp.Safe != flags.All || s.Stamp.Rollout != "orders" {
				t.Errorf("flag %s: %+v, %v", key, s, err)
			}
		}
		if active, err := h.journal.Active(t.Context()); err != nil || len(active) > 0 {
			t.Errorf("%d rollouts still have their database: %v", len(active), err)
		}
	})
}

func TestASealIsWrittenWheneverTheStoreIsBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &troubled{}
		h := build(t, func(o *controller.Options) { f.Flags, o.Flags = o.Flags, f })
		h.begin()
		h.until(rollout.Soaking, 8*time.Hour)
		time.Sleep(3 * time.Hour)
		h.do(rollout.Approve)
		refuses := down
		f.write.Store(&refuses)
		h.do(rollout.Complete)
		time.Sleep(10 * time.Minute)
		s := h.state()
		if s.Sealed {
			t.Error("it is sealed with the store down")
		}
		if claims := s.Claims(); slices.Contains(claims, rollout.Claim{Kind: rollout.ClaimDatabase, Name: "orders"}) {
			t.Errorf("it is over, and keeps its database from others: %v", claims)
		}
		f.cure()
		time.Sleep(time.Minute)
		if s := h.state(); !s.Sealed {
			t.Error("it is not sealed with the store back")
		}
	})
}

func TestAFlagThatAnotherRolloutHasStampedIsNeitherStartedNorAdopted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.byHand(0)
		now, err := h.store.Read(t.Context(), keys[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.store.Write(t.Context(), keys[0], flags.Change{Kind: flags.Raise, Share: 25, Revision: now.Revision, Rollout: "payments", Epoch: 70}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Minute)
		if err := h.adoptAt(reads(25)); err != nil {
			t.Fatal(err)
		}
		h.until(rollout.Draft, 20*time.Minute)
		said := h.state().Report.Checks[0]
		if said.Result != rollout.CheckFail || !strings.Contains(said.Why, "is rollout payments's, for ever") {
			t.Errorf("the preflight says %+v", said)
		}
	})
}

func TestAPreflightOfWhatRunsIsGoodAndChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.at(0, 25, time.Hour)
		time.Sleep(time.Minute) // until tasks have followed
		before, flags := h.state().Version, h.revisions()
		report, err := h.Preflight(t.Context(), "orders")
		if err != nil || !report.Passed() {
			t.Errorf("%+v, %v", report, err)
		}
		if h.state().Version != before || h.revisions() != flags {
			t.Error("it changed something")
		}
	})
}

func TestARollbackEndsATakeoverWhileItsPreflightRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.byHand(25)
		h.mu.Lock()
		h.mute = true // the preflight looks again until tasks report
		h.mu.Unlock()
		time.Sleep(5 * time.Minute)
		if err := h.adoptAt(reads(25)); err != nil {
			t.Fatal(err)
		}
		h.do(rollout.Rollback)
		h.at(0, 0, time.Minute)
	})
}
