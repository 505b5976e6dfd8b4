package openfeature

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/seed-c8cbbb61/cutover/flags"
)

const reads = "orders-db-reads"

// task has bucket 25 under reads: off at 25 %, on at 26 %.
var task = inBucket(25)

func inBucket(bucket int) string {
	for i := 0; ; i++ {
		id := fmt.Sprintf("task-%d", i)
		if flags.Bucket(reads, flags.TargetingKey(id)) == bucket {
			return id
		}
	}
}

// store answers a provider inside a synctest bubble, where there is no network.
type store struct {
	mu     sync.Mutex
	behave answers
	asked  int
	tagged string // the tag that was sent last
}

type answers struct {
	body  string
	err   error
	hangs bool
}

func (s *store) fetch(ctx context.Context, tag string) (reply, error) {
	s.mu.Lock()
	now := s.behave
	s.asked++
	s.tagged = tag
	s.mu.Unlock()
	switch {
	case now.hangs:
		<-ctx.Done()
		return reply{}, ctx.Err()
	case now.err != nil:
		return reply{}, now.err
	case tag != "" && tag == now.body:
		return reply{same: true, tag: tag}, nil
	default:
		return reply{body: []byte(now.body), tag: now.body}, nil
	}
}

func says(body string) *store { return &store{behave: answers{body: body}} }

// becomes changes the store and lets the provider poll a few times.
func (s *store) becomes(a answers) {
	s.mu.Lock()
	s.behave = a
	s.mu.Unlock()
	aWhile()
}

func (s *store) fetches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

var refusing = answers{err: errors.New("connection refused")}

func at(share flags.Share) string {
	return snapshotOf(`{"type":"THRESHOLD_ROLLOUT_TYPE","rank":1,"threshold":{"percentage":` +
		fmt.Sprint(int(share)) + `,"value":true}}`)
}

func snapshotOf(rollouts string) string {
	return `{"flags":[{"key":"orders-db-reads","type":"BOOLEAN_FLAG_TYPE","enabled":false,"rollouts":[` + rollouts + `]}]}`
}

// provider starts on a store and is stopped, and waited for, at the test's end.
func provider(t *testing.T, s *store, options Options) (*Provider, error) {
	t.Helper()
	options.URL = "http://127.0.0.1"
	p, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	p.fetch = s.fetch
	err = p.InitWithContext(t.Context(), of.EvaluationContext{})
	t.Cleanup(p.Shutdown)
	return p, err
}

func started(t *testing.T, s *store, options Options) *Provider {
	t.Helper()
	p, err := provider(t, s, options)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// aWhile lets the provider poll a few times.
func aWhile() {
	time.Sleep(35 * time.Second)
	synctest.Wait()
}

// heard empties the event channel.
func heard(p *Provider) []string {
	var kinds []string
	for {
		select {
		case e := <-p.events:
			kinds = append(kinds, strings.TrimSpace(fmt.Sprint(e.EventType, " ", strings.Join(e.FlagChanges, ","))))
		default:
			return kinds
		}
	}
}

func evaluate(p *Provider, fallback bool) of.BoolResolutionDetail {
	return p.BooleanEvaluation(context.Background(), reads, fallback, of.FlattenedContext{})
}

func wantDecision(t *testing.T, p *Provider, on bool, share flags.Share, reason of.Reason) {
	t.Helper()
	gotOn, gotShare := p.Decide(reads)
	if gotOn != on || gotShare != share {
		t.Errorf("Decide: %t at %v, want %t at %v", gotOn, gotShare, on, share)
	}
	got := evaluate(p, !on)
	if got.Value != on || got.Reason != reason || got.Error() != nil {
		t.Errorf("evaluation: %t, %s, %v; want %t, %s", got.Value, got.Reason, got.Error(), on, reason)
	}
}

func wantEvents(t *testing.T, p *Provider, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, heard(p)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// wantProblem wants the application to have been told one thing: a flag that
// cannot be followed, and why.
func wantProblem(t *testing.T, p *Provider, why string) {
	t.Helper()
	select {
	case e := <-p.events:
		if e.EventType != of.ProviderError || !strings.Contains(e.Message, why) {
			t.Errorf("event %s %q: want an error with %q", e.EventType, e.Message, why)
		}
	default:
		t.Errorf("no event: want an error with %q", why)
	}
	wantEvents(t, p)
}
