package openfeature

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// TestAPercentageLetsInTheBucketsThatFliptLetsIn compares with Flipt's own rule,
// bucket < percentage in 32 bits, for every bucket.
func TestAPercentageLetsInTheBucketsThatFliptLetsIn(t *testing.T) {
	check := func(t rapid.TB, percentage float32) {
		f := wireFlag{Type: "BOOLEAN_FLAG_TYPE", Rollouts: make([]wireRollout, 1)}
		rollout := `{"type":"THRESHOLD_ROLLOUT_TYPE","threshold":{"percentage":` +
			strconv.FormatFloat(float64(percentage), 'g', -1, 32) + `,"value":true}}`
		if err := json.Unmarshal([]byte(rollout), &f.Rollouts[0]); err != nil {
			t.Fatal(err)
		}
		share, err := f.share()
		if err != nil {
			t.Fatal(err)
		}
		for bucket := range 100 {
			if (float32(bucket) < percentage) != (bucket < int(share)) {
				t.Fatalf("percentage %v became %v: they differ in bucket %d", percentage, share, bucket)
			}
		}
	}
	edges := []float32{-1, 0, 0.001, 0.5, 1, 1.000001, 1.5, math.Nextafter32(53, 54), math.Nextafter32(53, 52), 99.99, 100}
	for _, percentage := range edges {
		check(t, percentage)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.Float32Range(-1, 100).Draw(t, "percentage")) })
}

func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(at(25)), []byte(snapshotOf("")))
	f.Add([]byte(`{"flags":[{}]}`), []byte(`{"flags":[null]}`))
	f.Add([]byte(`{"flags":[{"key":"orders-db-reads","type":"VARIANT_FLAG_TYPE"}]}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		now := &snapshot{}
		for _, body := range [][]byte{first, second} {
			doc, err := parse(body)
			if err != nil {
				continue
			}
			was := now
			now = was.with(doc, task, time.Unix(1, 0))
			for key := range was.flags {
				if _, ok := now.flags[key]; !ok {
					t.Errorf("flag %q was forgotten", key)
				}
			}
			for key, f := range now.flags {
				if !f.share.Valid() || f.on != f.share.Holds(key, task) {
					t.Errorf("flag %q: %+v", key, f)
				}
			}
			now.problems(map[string]bool{reads: true})
			now.changes(was)
		}
	})
}

func TestATaskOfNobodyHoldsNothing(t *testing.T) {
	doc, err := parse([]byte(at(flags.All)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(Options{URL: "http://127.0.0.1", Cold: map[string]bool{reads: true}})
	if err != nil {
		t.Fatal(err)
	}
	p.now.Store((&snapshot{}).with(doc, p.task, time.Unix(1, 0)))
	if on, share := p.Decide(reads); !on || share != flags.All {
		t.Errorf("without a task: %t at %v, want the cold default", on, share)
	}
}
