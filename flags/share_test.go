package flags_test

import (
	"encoding/json"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-c8cbbb61/cutover/flags"
)

func TestBucketsAreThoseOfRealFliptServers(t *testing.T) {
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Boolean struct {
			Flag    string
			Buckets map[string]int
		}
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Boolean.Buckets) < 10 {
		t.Fatalf("only %d vectors", len(vectors.Boolean.Buckets))
	}
	for id, want := range vectors.Boolean.Buckets {
		if got := flags.Bucket(vectors.Boolean.Flag, id); got != want {
			t.Errorf("%s is in bucket %d, want %d", id, got, want)
		}
	}
}

func TestATargetingKeyIsTheHexSHA256OfTheTaskID(t *testing.T) {
	const want = "ecbccca6df9b1633bfa42e941df7a8ae6c878bc1532c6b7429dbef974bd39d4b"
	if got := flags.TargetingKey("9781c248-0edd-4cdb-9a93-f63cb662a5d3"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCohortsNest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flag, task := rapid.String().Draw(t, "flag"), rapid.String().Draw(t, "task")
		lower := flags.Share(rapid.IntRange(0, 100).Draw(t, "lower"))
		higher := flags.Share(rapid.IntRange(int(lower), 100).Draw(t, "higher"))
		if lower.Holds(flag, task) && !higher.Holds(flag, task) {
			t.Errorf("%q is held at %v and not at %v", task, lower, higher)
		}
		if flags.None.Holds(flag, task) || !flags.All.Holds(flag, task) {
			t.Errorf("%q is held at 0%% or not at 100%%", task)
		}
	})
}

func TestParseShare(t *testing.T) {
	for _, test := range []struct {
		text string
		want flags.Share
	}{{"0", 0}, {"0%", 0}, {"25%", 25}, {" 25 % ", 25}, {"100", 100}} {
		if got, err := flags.ParseShare(test.text); err != nil || got != test.want {
			t.Errorf("%q: got %v, %v, want %v", test.text, got, err, test.want)
		}
	}
	for _, text := range []string{"", "%", "-1%", "101%", "0.5%", "25%%%", "all", "1e2"} {
		if got, err := flags.ParseShare(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}
