package controller_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/controller"
)

// usurped is a journal in which another leader takes over at a moment.
type usurped struct {
	controller.Journal
	once sync.Once
	take func()
}

func (j *usurped) Append(ctx context.Context, s rollout.State, e rollout.Event) (rollout.State, rollout.Event, error) {
	if e.Kind == rollout.Raised && e.From == 5 {
		j.once.Do(j.take)
	}
	return j.Journal.Append(ctx, s, e)
}

// anotherLeads lets another process take the lead, and returns the state after it.
func (h *house) anotherLeads() rollout.State {
	ctx := context.WithoutCancel(h.t.Context())
	epoch, err := h.journal.Lead(ctx)
	if err != nil {
		h.t.Error(err)
	}
	led, _, err := h.journal.Append(ctx, h.state(), rollout.Event{Kind: rollout.Led, At: time.Now(), By: rollout.Controller, Surface: rollout.Controller, Epoch: epoch})
	if err != nil {
		h.t.Error(err)
	}
	return led
}

func TestAFormerLeaderNeitherRaisesNorSignsForTheNewOne(t *testing.T) {
	moments := map[string]func(h *house, j *usurped, f *troubled, take func()){
		"another leads right before a raise is recorded": func(_ *house, j *usurped, _ *troubled, take func()) { j.take = take },
		"another leads while the flags are looked at": func(h *house, j *usurped, f *troubled, take func()) {
			j.take = func() { h.t.Error("the raise came first") }
			h.until(rollout.Baking, 10*time.Minute)
			over := time.Now().Add(3 * time.Minute)
			looking := func(context.Context, flags.Key) error {
				if time.Now().After(over) {
					j.once.Do(take)
				}
				return nil
			}
			f.read.Store(&looking)
		},
	}
	for name, moment := range moments {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				j, f := &usurped{}, &troubled{}
				h := build(t, func(o *controller.Options) {
					j.Journal, o.Journal = o.Journal, j
					f.Flags, o.Flags = o.Flags, f
				})
				var led rollout.State
				j.take = func() { led = h.anotherLeads() }
				take := j.take
				h.begin()
				h.at(0, 5, time.Hour)
				moment(h, j, f, take)
				time.Sleep(30 * time.Minute)
				h.unsigned(led, 5)
				h.metrics.tell(412) // the way down needs no lead
				h.at(0, 0, 3*time.Minute)
				h.unsigned(led, 0)
			})
		})
	}
}

// A leader that stamps the flags at once leaves nothing that would keep a former
// one from them but that one's own doubt.
func TestAFormerLeaderLeavesAloneWhatTheNewOneStamped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := build(t)
		h.begin()
		h.at(0, 5, time.Hour)
		h.until(rollout.Baking, 10*time.Minute)
		led := h.anotherLeads()
		var stamped [2]flags.Setting
		for i, key := range keys {
			before, err := h.store.Read(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			fence := flags.Change{Kind: flags.Fence, Revision: before.Revision, Rollout: "orders", Epoch: led.Epoch, Seq: before.Stamp.Seq}
			if stamped[i], err = h.store.Write(t.Context(), key, fence); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(30 * time.Minute)
		for i, key := range keys {
			if now, err := h.store.Read(t.Context(), key); err != nil || now != stamped[i] {
				t.Errorf("flag %s was %+v, now it is %+v, %v", key, stamped[i], now, err)
			}
		}
		if events := h.events(); events[len(events)-1].Seq != led.Version {
			t.Errorf("the former leader went on: %+v", events[led.Version:])
		}
	})
}

// unsigned holds what a former leader did since another has led: it raised
// nothing, and the flag does not bear the new one's epoch.
func (h *house) unsigned(led rollout.State, share flags.Share) {
	h.t.Helper()
	if led.Version == 0 {
		h.t.Fatalf("nobody took the lead: %s", h.story())
	}
	for _, e := range h.events() {
		if e.Kind == rollout.Raised && e.Seq > led.Version {
			h.t.Errorf("event %d raises %s to %v after another had led", e.Seq, e.Lane, e.To)
		}
	}
	s, err := h.store.Read(h.t.Context(), keys[0])
	if err != nil || s.Stamp.Epoch >= led.Epoch || s.Share != share {
		h.t.Errorf("the flag is %+v, %v; want %v, and the new leader's epoch is %d", s, err, share, led.Epoch)
	}
}
