package audit_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
	"github.com/seed-c8cbbb61/cutover/rollout/audit"
)

var at = time.Date(2026, 11, 30, 9, 0, 0, 123456789, time.UTC)

// chain returns the records of n events: those of orders and of pay take turns,
// and each third one has a request.
func chain(t testing.TB, n int) []audit.Record {
	t.Helper()
	var records []audit.Record
	var last audit.Checkpoint
	for i := range n {
		e := rollout.Event{
			Rollout: []string{"orders", "pay"}[i%2], Seq: uint64(i/2 + 1), Kind: rollout.Noted,
			At: at.Add(time.Duration(i) * time.Second), By: "ann", Why: fmt.Sprintf("remark %d <é> \u2028", i+1),
		}
		if i%3 == 0 {
			e.Request = fmt.Sprintf("r-%d", i+1)
		}
		records, last = follow(t, records, last, e)
	}
	return records
}

func follow(t testing.TB, records []audit.Record, last audit.Checkpoint, e rollout.Event) ([]audit.Record, audit.Checkpoint) {
	t.Helper()
	r, err := last.Next(e)
	if err != nil {
		t.Fatal(err)
	}
	return append(records, r), r.Checkpoint()
}

// again computes all hashes anew, as somebody would who knows how.
func again(t testing.TB, records []audit.Record) []audit.Record {
	t.Helper()
	var chained []audit.Record
	var last audit.Checkpoint
	for i := range records {
		e, err := audit.Decode(records[i].Body)
		if err != nil {
			t.Fatal(err)
		}
		chained, last = follow(t, chained, last, e)
	}
	return chained
}

// byPlace is how a database hands records out.
func byPlace(records []audit.Record) iter.Seq2[audit.Record, error] {
	sorted := slices.Clone(records)
	slices.SortStableFunc(sorted, func(a, b audit.Record) int { return int(a.Place - b.Place) })
	return func(yield func(audit.Record, error) bool) {
		for _, r := range sorted {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// exported writes an export of all records.
func exported(t testing.TB, h audit.Header, records []audit.Record) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := audit.WriteExport(&b, h, byPlace(records)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// lines cuts a text after each line.
func lines(text string) []string { return slices.Collect(strings.Lines(text)) }

// sum is the hash of the first event. This is what it is made of.
func sum(body string) audit.Hash {
	digest := sha256.Sum256([]byte(body))
	return digest[:]
}
