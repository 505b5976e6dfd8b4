package journal_test

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
	"github.com/seed-c8cbbb61/cutover/rollout/journal"
)

var damageSeed = flag.Uint64("damage-seed", 0, "seed of random damage; 0 draws one")

// How many damages each database has to suffer.
const (
	damagesOnSQLite  = 200
	damagesOnMariaDB = 40
)

// randomDamage changes rows by SQL, anywhere and in each way there is, and knows
// what must be found: the first place that is wrong, and the kind.
func randomDamage(t *testing.T, e *engine) {
	seed := *damageSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test ./rollout/journal -run TestJournal -damage-seed %d", seed)
	v := newVictim(t, e, rand.New(rand.NewPCG(seed, 0)))
	damages := damagesOnSQLite
	if e.server != nil {
		damages = damagesOnMariaDB
	}
	ways := []struct {
		name string
		do   func() (want *audit.Damage, checkpoints []audit.Checkpoint)
	}{
		{"text edited", v.editText},
		{"hash edited", v.editHash},
		{"column edited", v.editColumn},
		{"event deleted", v.remove},
		{"event deleted and the gap closed", v.closeGap},
		{"events swapped", v.swap},
		{"texts swapped", v.swapTexts},
		{"tail cut, head row set back", v.cutTail},
		{"tail cut, head row and rows set back", v.cutTailAndRows},
		{"last event edited with its hash", v.editLast},
		{"event edited with its hash", v.editWithHash},
		{"everything computed anew", v.recompute},
		{"row or claim edited", v.editRow},
	}
	for n := range damages {
		way := ways[n%len(ways)]
		want, checkpoints := way.do()
		t.Run(fmt.Sprintf("%d %s", n, way.name), func(t *testing.T) {
			mustFind(t, v.journal, want, checkpoints...)
		})
		v.restore()
	}
	mustHold(t, v.journal)
}

// victim is a journal that is damaged and made whole again, many times.
type victim struct {
	t       *testing.T
	r       *rand.Rand
	db      *sql.DB
	journal *journal.Journal

	records []audit.Record
	tables  map[string][][]any
}

// notes is how many of the last events change nothing but a row's version.
const notes = 12

func newVictim(t *testing.T, e *engine, r *rand.Rand) *victim {
	source := e.source(t)
	v := &victim{t: t, r: r, db: raw(t, source), journal: open(t, source), tables: map[string][][]any{}}
	states := map[string]rollout.State{"*": {Name: rollout.HouseName}}
	tell := func(name string, events ...rollout.Event) { states[name] = add(t, v.journal, states[name], events...) }
	names := []string{"orders", "pay", "users"}
	for _, name := range names {
		first := planned(plan(name, name))
		first.Request = "plan-" + name
		tell(name, first, event(rollout.Started), checked(rollout.CheckPass))
		tell("*", frozen(name))
		tell(name, held(), noted("on and on"), noted("remark <é>"))
	}
	for n := range notes + 8 {
		note := noted(fmt.Sprintf("remark %d", n))
		if n%3 == 0 {
			note.Request = fmt.Sprintf("r-%d", n)
		}
		tell(append(names, "*")[r.IntN(4)], note)
	}
	mustHold(t, v.journal)
	v.keep()
	return v
}

// columns of the tables that are damaged, in the order in which they can be filled.
var columns = []struct{ table, names string }{
	{"journal", "id, place, epoch, tail"},
	{"rollouts", "name, version, state"},
	{"events", "place, rollout, seq, kind, at, request, body, hash"},
	{"claims", "kind, name, holder"},
}

// keep remembers all rows.
func (v *victim) keep() {
	for _, c := range columns {
		rows, err := v.db.QueryContext(v.t.Context(), "SELECT "+c.names+" FROM "+c.table+" ORDER BY 1")
		if err != nil {
			v.t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			values := make([]any, strings.Count(c.names, ",")+1)
			targets := make([]any, len(values))
			for i := range values {
				targets[i] = &values[i]
			}
			if err := rows.Scan(targets...); err != nil {
				v.t.Fatal(err)
			}
			for i, value := range values {
				if text, ok := value.([]byte); ok && !strings.HasSuffix(c.names, "hash") || ok && i < len(values)-1 {
					values[i] = string(text)
				}
			}
			v.tables[c.table] = append(v.tables[c.table], values)
		}
		if err := rows.Err(); err != nil {
			v.t.Fatal(err)
		}
	}
	for _, row := range v.tables["events"] {
		r := audit.Record{Place: row[0].(int64), Rollout: row[1].(string), Seq: row[2].(int64), Body: row[6].(string), Hash: row[7].([]byte)}
		if request, ok := row[5].(string); ok {
			r.Request = &request
		}
		v.records = append(v.records, r)
	}
}

// restore puts all rows back.
func (v *victim) restore() {
	tx, err := v.db.BeginTx(v.t.Context(), nil)
	if err != nil {
		v.t.Fatal(err)
	}
	defer tx.Rollback()
	for _, c := range columns {
		if _, err := tx.ExecContext(v.t.Context(), "DELETE FROM "+c.table); err != nil {
			v.t.Fatal(err)
		}
		for _, values := range v.tables[c.table] {
			query := "INSERT INTO " + c.table + " (" + c.names + ") VALUES (?" + strings.Repeat(", ?", len(values)-1) + ")"
			if _, err := tx.ExecContext(v.t.Context(), query, values...); err != nil {
				v.t.Fatal(err)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		v.t.Fatal(err)
	}
}

func (v *victim) do(query string, args ...any) {
	v.t.Helper()
	execute(v.t, v.db, query, args...)
}

// any returns one of the records; last is the place of the newest.
func (v *victim) any() *audit.Record { return &v.records[v.r.IntN(len(v.records))] }
func (v *victim) last() int64        { return int64(len(v.records)) }

func (v *victim) at(place int64) audit.Checkpoint {
	r := v.records[place-1]
	return audit.Checkpoint{Version: audit.Version, Place: place, Hash: r.Hash}
}

// edit changes the text of an event, which stays an event.
func (v *victim) edit(r *audit.Record) string {
	var fields map[string]any
	if err := json.Unmarshal([]byte(r.Body), &fields); err != nil {
		v.t.Fatal(err)
	}
	switch v.r.IntN(4) {
	case 0:
		fields["by"] = "bob"
	case 1:
		fields["why"] = fmt.Sprint("something else ", v.r.Int())
	case 2:
		fields["page"] = true
	default:
		return r.Body + " " // JSON does not mind
	}
	text, err := json.Marshal(fields)
	if err != nil {
		v.t.Fatal(err)
	}
	return string(text)
}

func (v *victim) editText() (*audit.Damage, []audit.Checkpoint) {
	r := v.any()
	v.do(`UPDATE events SET body = ? WHERE place = ?`, v.edit(r), r.Place)
	return &audit.Damage{Kind: audit.Edited, Place: r.Place, Rollout: r.Rollout}, nil
}

func (v *victim) editHash() (*audit.Damage, []audit.Checkpoint) {
	r := v.any()
	hash := sha256.Sum256([]byte(fmt.Sprint(v.r.Int())))
	v.do(`UPDATE events SET hash = ? WHERE place = ?`, hash[:], r.Place)
	return &audit.Damage{Kind: audit.Edited, Place: r.Place, Rollout: r.Rollout}, nil
}

func (v *victim) editColumn() (*audit.Damage, []audit.Checkpoint) {
	r := v.any()
	switch v.r.IntN(5) {
	case 0:
		v.do(`UPDATE events SET kind = 'approved' WHERE place = ?`, r.Place)
	case 1:
		v.do(`UPDATE events SET at = at + ? WHERE place = ?`, v.r.IntN(2)*2-1, r.Place)
	case 2:
		v.do(`UPDATE events SET seq = ? WHERE place = ?`, 1000+v.r.IntN(1000), r.Place)
	case 3:
		v.do(`UPDATE events SET rollout = 'ghost' WHERE place = ?`, r.Place)
	default:
		request := sql.Null[string]{V: fmt.Sprint("x-", v.r.Int()), Valid: r.Request == nil || v.r.IntN(2) == 0}
		v.do(`UPDATE events SET request = ? WHERE place = ?`, request, r.Place)
	}
	return &audit.Damage{Kind: audit.Edited, Place: r.Place, Rollout: r.Rollout}, nil
}

// remove takes the first, the last or any event away.
func (v *victim) remove() (*audit.Damage, []audit.Checkpoint) {
	place := []int64{1, v.last(), v.any().Place}[v.r.IntN(3)]
	v.do(`DELETE FROM events WHERE place = ?`, place)
	if place == v.last() {
		return &audit.Damage{Kind: audit.Cut, Place: place}, nil
	}
	return &audit.Damage{Kind: audit.Missing, Place: place}, nil
}

// closeGap also moves up what stands after the event.
func (v *victim) closeGap() (*audit.Damage, []audit.Checkpoint) {
	place := 1 + v.r.Int64N(v.last()-1)
	v.do(`DELETE FROM events WHERE place = ?`, place)
	v.do(`UPDATE events SET place = 1 - place WHERE place > ?`, place)
	v.do(`UPDATE events SET place = -place WHERE place < 0`)
	if v.r.IntN(2) == 0 {
		v.do(`UPDATE journal SET place = place - 1`)
	}
	return &audit.Damage{Kind: audit.Missing, Place: place}, nil
}

func (v *victim) pair() (a, b *audit.Record) {
	for a = v.any(); b == nil || a.Place == b.Place; {
		b = v.any()
	}
	if a.Place > b.Place {
		a, b = b, a
	}
	return a, b
}

func (v *victim) swap() (*audit.Damage, []audit.Checkpoint) {
	a, b := v.pair()
	v.do(`UPDATE events SET place = -1 WHERE place = ?`, a.Place)
	v.do(`UPDATE events SET place = ? WHERE place = ?`, a.Place, b.Place)
	v.do(`UPDATE events SET place = ? WHERE place = -1`, b.Place)
	return &audit.Damage{Kind: audit.Reordered, Place: a.Place, Rollout: a.Rollout}, nil
}

// swapTexts leaves the columns, and perhaps the hashes, where they are.
func (v *victim) swapTexts() (*audit.Damage, []audit.Checkpoint) {
	a, b := v.pair()
	v.do(`UPDATE events SET body = ? WHERE place = ?`, b.Body, a.Place)
	v.do(`UPDATE events SET body = ? WHERE place = ?`, a.Body, b.Place)
	if v.r.IntN(2) == 0 {
		v.do(`UPDATE events SET hash = ? WHERE place = ?`, []byte(b.Hash), a.Place)
		v.do(`UPDATE events SET hash = ? WHERE place = ?`, []byte(a.Hash), b.Place)
	}
	return &audit.Damage{Kind: audit.Reordered, Place: a.Place, Rollout: a.Rollout}, nil
}

// cut takes the last events away, and has the head row know of it. It returns
// the first place that is gone, and whose events are.
func (v *victim) cut() (int64, map[string]int64) {
	first := v.last() - v.r.Int64N(notes)
	gone := map[string]int64{}
	for _, r := range v.records[first-1:] {
		gone[r.Rollout]++
	}
	v.do(`DELETE FROM events WHERE place >= ?`, first)
	v.do(`UPDATE journal SET place = ?, tail = ?`, first-1, v.at(first-1).String())
	return first, gone
}

// cutTail leaves the rows, which give it away; so does a checkpoint.
func (v *victim) cutTail() (*audit.Damage, []audit.Checkpoint) {
	first, gone := v.cut()
	want := &audit.Damage{Kind: audit.Cut, Place: first}
	if v.r.IntN(2) == 0 {
		return want, []audit.Checkpoint{v.at(first)}
	}
	if len(gone) == 1 {
		for name := range gone {
			want.Rollout = name
		}
	}
	return want, nil
}

// cutTailAndRows is found by a checkpoint only.
func (v *victim) cutTailAndRows() (*audit.Damage, []audit.Checkpoint) {
	first, gone := v.cut()
	for name := range gone {
		var events []rollout.Event
		for _, r := range v.records[:first-1] {
			if e, err := audit.Decode(r.Body); err == nil && r.Rollout == name {
				events = append(events, e)
			}
		}
		s := rollout.Fold(events)
		text, err := json.Marshal(s)
		if err != nil {
			v.t.Fatal(err)
		}
		v.do(`UPDATE rollouts SET version = ?, state = ? WHERE name = ?`, s.Version, string(text), name)
	}
	mustFind(v.t, v.journal, nil)
	return &audit.Damage{Kind: audit.Cut, Place: first}, []audit.Checkpoint{v.at(first + v.r.Int64N(v.last()-first+1))}
}

// note returns the place of a note among the last ones: its text is in no row.
func (v *victim) note() int64 { return v.last() - v.r.Int64N(notes) }

// rewrite edits an event and computes the hashes anew from there to a place.
func (v *victim) rewrite(place, to int64) {
	before := v.at(place - 1).Hash
	for p := place; p <= to; p++ {
		body := v.records[p-1].Body
		if p == place {
			body = v.edit(&v.records[p-1])
		}
		hash := sha256.Sum256(append(append([]byte{}, before...), body...))
		v.do(`UPDATE events SET body = ?, hash = ? WHERE place = ?`, body, hash[:], p)
		before = hash[:]
	}
}

// editLast is found by what the head row remembers.
func (v *victim) editLast() (*audit.Damage, []audit.Checkpoint) {
	v.rewrite(v.last(), v.last())
	return &audit.Damage{Kind: audit.Rewritten, Place: v.last()}, nil
}

// editWithHash is seen at the event after, whose hash no longer fits.
func (v *victim) editWithHash() (*audit.Damage, []audit.Checkpoint) {
	place := min(v.note(), v.last()-1)
	v.rewrite(place, place)
	return &audit.Damage{Kind: audit.Edited, Place: place + 1, Rollout: v.records[place].Rollout}, nil
}

// recompute is found by the head row, if that was left as it is, and otherwise
// by a checkpoint only: the first that was kept after.
func (v *victim) recompute() (*audit.Damage, []audit.Checkpoint) {
	place := v.note()
	v.rewrite(place, v.last())
	if v.r.IntN(2) == 0 {
		return &audit.Damage{Kind: audit.Rewritten, Place: v.last()}, nil
	}
	var hash []byte
	if err := v.db.QueryRowContext(v.t.Context(), `SELECT hash FROM events WHERE place = ?`, v.last()).Scan(&hash); err != nil {
		v.t.Fatal(err)
	}
	v.do(`UPDATE journal SET tail = ?`, fmt.Sprintf("%d:%x", v.last(), hash))
	mustFind(v.t, v.journal, nil, v.at(place-1))
	kept := place + v.r.Int64N(v.last()-place+1)
	return &audit.Damage{Kind: audit.Rewritten, Place: kept}, []audit.Checkpoint{v.at(place - 1), v.at(kept), v.at(v.last())}
}

// editRow edits what is folded of the events.
func (v *victim) editRow() (*audit.Damage, []audit.Checkpoint) {
	name := []string{"orders", "pay", "users"}[v.r.IntN(3)]
	want := &audit.Damage{Kind: audit.Row, Rollout: name}
	for _, r := range v.records {
		if r.Rollout == name {
			want.Place = r.Place
		}
	}
	switch v.r.IntN(4) {
	case 0:
		v.do(`UPDATE rollouts SET version = version + ? WHERE name = ?`, v.r.IntN(2)*2-1, name)
	case 1:
		v.do(`UPDATE rollouts SET state = REPLACE(state, '"phase":"held"', '"phase":"draft"') WHERE name = ?`, name)
	case 2:
		want.Kind = audit.Claim
		v.do(`DELETE FROM claims WHERE holder = ?`, name)
	default:
		want.Kind = audit.Claim
		v.do(`UPDATE claims SET holder = 'ghost' WHERE holder = ? AND kind = 'database'`, name)
	}
	return want, nil
}
