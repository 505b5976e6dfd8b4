package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Chain says where records begin and end, and what else they are held to.
type Chain struct {
	After       Checkpoint   // the records begin after it; zero: at the beginning
	Last        int64        // place of the last event
	Tail        *Checkpoint  // what the head row remembers, if it does
	Checkpoints []Checkpoint // what people kept elsewhere

	// Good is called with each event that holds, in order.
	Good func(*rollout.Event)
}

// Verify walks records in the order of their places and returns how far they
// hold. An error, of reading them or of a checkpoint that cannot be compared,
// leaves open whether they do.
func Verify(records iter.Seq2[Record, error], c Chain) (Result, error) {
	w := walk{Chain: c, at: c.After, seqs: make(map[string]uint64)}
	for i := range c.Checkpoints {
		if at := c.Checkpoints[i].Place; at < c.After.Place {
			return w.result(nil), fmt.Errorf("the events begin after place %d: the checkpoint of place %d cannot be compared", c.After.Place, at)
		}
	}
	found := w.held()
	if found == nil {
		var err error
		if found, err = w.walk(records); err != nil {
			return w.result(nil), err
		}
	}
	return w.result(found), nil
}

// walk is how far a verification has come.
type walk struct {
	Chain
	at     Checkpoint
	places int64
	seqs   map[string]uint64 // of each rollout's last event
	search *search           // once something was found, and it takes the rest to say what
}

func (w *walk) result(found *Damage) Result {
	return Result{Places: w.places, Checkpoint: w.at, Damage: found}
}

// walk returns the first damage, if there is any.
func (w *walk) walk(records iter.Seq2[Record, error]) (*Damage, error) {
	for r, err := range records {
		if err != nil {
			found, ok := errors.AsType[Damage](err)
			switch {
			case !ok:
				return nil, err
			case w.search != nil:
				return w.search.ends(), nil
			}
			return &found, nil
		}
		if w.search == nil {
			if found := w.step(&r); found != nil {
				return found, nil
			}
		}
		if w.search != nil && w.search.finds(&r) {
			return w.search.ends(), nil
		}
	}
	if w.search != nil {
		return w.search.ends(), nil
	}
	return w.end(), nil
}

// step takes the next record. If it is not the one that belongs here, a search
// for that one begins.
func (w *walk) step(r *Record) *Damage {
	due := w.at.Place + 1
	if r.Place > w.Last && due > w.Last {
		return &Damage{Kind: Extra, Place: r.Place, Rollout: r.Rollout, Why: fmt.Sprintf("an event stands here, and the journal ends at place %d", w.Last)}
	}
	damaged := func(kind Kind, format string, args ...any) *Damage {
		return &Damage{Kind: kind, Place: due, Rollout: r.Rollout, Why: fmt.Sprintf(format, args...)}
	}
	if r.Place < due {
		return damaged(Extra, "the event of place %d stands here, a second time", r.Place)
	}
	if r.Place > due {
		w.search = &search{due: due, next: r.Place}
		return nil
	}
	fits := same(r.Hash, w.at.cover(r.Body))
	e, err := Decode(r.Body)
	switch {
	case err != nil && !fits:
		return damaged(Edited, "its text does not fit its hash, and is no event: %v", err)
	case err != nil:
		return damaged(Unreadable, "its text is no event: %v", err)
	case e.Place > 0 && e.Place <= w.furthest() && e.Place != due:
		w.search = &search{due: due, here: r.Rollout, says: e.Place, passed: e.Place < due}
		return nil
	case !fits:
		return damaged(Edited, "its text does not fit its hash: one of them was changed, or the event before was, together with its own hash")
	case e.Place != due:
		return damaged(Edited, "its text says that it belongs to place %d", e.Place)
	}
	if why := r.differs(&e); why != "" {
		return &Damage{Kind: Edited, Place: due, Rollout: e.Rollout, Why: why}
	}
	if found := w.follows(&e); found != nil {
		return found
	}
	w.at = r.Checkpoint()
	w.places++
	if w.Good != nil {
		w.Good(&e)
	}
	return w.held()
}

// furthest is the last place that there is any word of.
func (w *walk) furthest() int64 {
	if w.Tail != nil && w.Tail.Place > w.Last {
		return w.Tail.Place
	}
	return w.Last
}

// follows holds an event against the one before it of its rollout. Where the
// chain fits and this does not, somebody has computed the hashes anew.
func (w *walk) follows(e *rollout.Event) *Damage {
	before, known := w.seqs[e.Rollout]
	w.seqs[e.Rollout] = e.Seq
	switch {
	case !known && w.After.Place > 0: // its first ones may lie before
		return nil
	case e.Seq > before+1:
		return &Damage{Kind: Missing, Place: e.Place, Rollout: e.Rollout, Why: fmt.Sprintf(
			"event %d of the rollout stands here, and its event %d does not stand before: it was taken out or moved, and the hashes computed anew", e.Seq, before+1)}
	case e.Seq <= before:
		return &Damage{Kind: Reordered, Place: e.Place, Rollout: e.Rollout, Why: fmt.Sprintf(
			"event %d of the rollout stands after its event %d, and the hashes were computed anew", e.Seq, before)}
	}
	return nil
}

// held holds the present place against the checkpoints that are of it.
func (w *walk) held() *Damage {
	why := func(keeper string) *Damage {
		return &Damage{Kind: Rewritten, Place: w.at.Place, Why: fmt.Sprintf(
			"all up to here fits together, but %s another hash for this place: this event, or one before it, was changed, and the hashes computed anew", keeper)}
	}
	for i := range w.Checkpoints {
		if c := &w.Checkpoints[i]; c.Place == w.at.Place && !same(c.Hash, w.at.Hash) {
			return why("the checkpoint has")
		}
	}
	if w.Tail != nil && w.Tail.Place == w.at.Place && !same(w.Tail.Hash, w.at.Hash) {
		return why("the head row remembers")
	}
	return nil
}

// end finds out whether events are missing at the end.
func (w *walk) end() *Damage {
	last, who := w.furthest(), "the head row knows of"
	for i := range w.Checkpoints {
		if at := w.Checkpoints[i].Place; at > last {
			last, who = at, "the checkpoint is of"
		}
	}
	if w.at.Place >= last {
		return nil
	}
	return &Damage{Kind: Cut, Place: w.at.Place + 1, Why: fmt.Sprintf("%s place %d, and there is no event from here on", who, last)}
}

// search looks through the rest of the records for the event of a place where
// another stands, or none.
type search struct {
	due  int64
	next int64  // place of the record that came instead, if nothing stands there
	here string // rollout of what stands there
	says int64  // the place that it names; 0 if there is none

	passed bool       // the place that it names has its own event
	place  int64      // where the event was found; 0 if nowhere
	event  namedPlace // as it was found
}

// namedPlace is what an event says of itself.
type namedPlace struct {
	Place   int64  `json:"place"`
	Rollout string `json:"rollout"`
}

// finds reports whether a record is the event that is looked for.
func (s *search) finds(r *Record) bool {
	var said namedPlace
	if json.Unmarshal([]byte(r.Body), &said) != nil {
		return false
	}
	if said.Place == s.says && r.Place == s.says {
		s.passed = true
	}
	if said.Place != s.due {
		return false
	}
	s.place, s.event = r.Place, said
	return true
}

// ends says what came out.
func (s *search) ends() *Damage {
	d := Gone(s.due)
	switch {
	case s.place > 0:
		d.Kind, d.Rollout = Reordered, s.event.Rollout
		d.Why = fmt.Sprintf("the event that belongs here stands at place %d", s.place)
		if s.place == s.due {
			d.Why = fmt.Sprintf("the event that belongs here comes after that of place %d", s.next)
		}
		if s.says > 0 {
			d.Why += fmt.Sprintf(", and that of place %d stands here", s.says)
		}
	case s.passed:
		d.Kind, d.Rollout = Edited, s.here
		d.Why = fmt.Sprintf("its text says that it belongs to place %d, whose own event is there", s.says)
	case s.says > 0:
		d.Why = fmt.Sprintf("the event is nowhere; that of place %d stands here instead", s.says)
	}
	return &d
}
