package rollout_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

var update = flag.Bool("update", false, "write what comes of the stories in testdata anew")

// TestStories plays the stories of testdata. A line that begins at the margin is
// what a person, the world or a fault does; the indented lines below it are what
// comes of it. Renew them with -update, then read the difference.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := newPlay(t)
			for line := range strings.Lines(string(text)) {
				if line = strings.TrimRight(line, "\n"); !strings.HasPrefix(line, "  ") {
					p.tell(line)
				}
			}
			p.foldAnew()
			if *update {
				if err := os.WriteFile(file, []byte(p.out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(p.out.String(), "\n")); diff != "" && !*update {
				t.Errorf("the story goes otherwise (-told +played):\n%s", diff)
			}
		})
	}
}

func (p *play) say(format string, args ...any) {
	if !p.quiet {
		fmt.Fprintf(&p.out, "  "+format+"\n", args...)
	}
}

// tell plays one line of a story, and tells what comes of it.
func (p *play) tell(line string) {
	p.out.WriteString(line + "\n")
	words := strings.Fields(line)
	if len(words) == 0 || words[0] == "#" {
		return
	}
	name, why, _ := strings.Cut(line, " because ")
	switch {
	case p.person(strings.Fields(name), why), p.amend(strings.Fields(name), why), p.process(line), p.machine(words), p.wire(line, words), p.crowd(words):
	default:
		p.t.Fatalf("a line that says nothing: %q", line)
	}
	p.sayState()
}

func (p *play) sayState() {
	s := &p.journal
	if p.leader.base != nil {
		s = &p.leader.state
	}
	if s.Plan == nil {
		return
	}
	text := "= " + string(s.Phase)
	for _, l := range s.Lanes {
		text += fmt.Sprintf(", %s %v", l.Name, l.Intended)
	}
	for _, h := range s.Holds {
		text += ", hold " + string(h.Kind)
	}
	if text != p.last && !p.quiet {
		p.last = text
		p.say("%s", text)
	}
}

// person plays a command such as "rollback ann writes:0 because pages".
func (p *play) person(words []string, why string) bool {
	if len(words) < 2 || !slices.Contains(rollout.Verbs(), rollout.Verb(words[0])) {
		return false
	}
	c := rollout.Command{Verb: rollout.Verb(words[0]), By: words[1], Surface: "cli", Reason: why}
	for _, word := range words[2:] {
		lane, share, found := strings.Cut(word, ":")
		if !found {
			c.Person = word
			continue
		}
		c.To = append(c.To, rollout.LaneShare{Lane: lane, Share: p.share(share)})
	}
	d := &p.leader
	if p.away["journal"] && c.Verb != rollout.Rollback {
		p.say("no answer: the journal is away")
		return true
	}
	p.catchUp(d)
	if d.state.Proposal != nil {
		c.Expect = d.state.Version // whoever agrees to an amendment has looked at it
	}
	e, err := rollout.Obey(&d.state, &c, p.now)
	var refusal rollout.Refusal
	switch {
	case errors.As(err, &refusal):
		p.say("refused: %s", refusal)
	case err != nil:
		p.t.Fatal(err)
	default:
		p.keep(d, &e, !p.away["journal"])
	}
	return true
}

// process plays what becomes of the processes that lead.
func (p *play) process(line string) bool {
	switch line {
	case "look":
		p.catchUp(&p.leader)
		p.cycle(&p.leader, false)
	case "guard":
		p.catchUp(&p.leader)
		p.cycle(&p.leader, true)
	case "crash":
		p.crash()
	case "crash after the record", "crash after the write":
		p.crashes = strings.TrimPrefix(line, "crash after the ")
	case "lead":
		p.former = p.leader
		p.lead()
	case "the former leader looks":
		p.cycle(&p.former, true)
	case "the former leader reports":
		p.catchUp(&p.leader)
		p.comeBack(&p.former)
	default:
		return false
	}
	return true
}

// machine plays plan, time, gates and what is outside.
func (p *play) machine(words []string) bool {
	switch words[0] {
	case "plan":
		p.made(words[1], words[2:])
	case "pass":
		p.pass(words[1])
	case "gate":
		p.says[words[1]] = words[2]
	case "journal", "store", "lease", "clock", "sources":
		p.away[words[0]] = words[1] == "away"
	case "source":
		p.badFrom = time.Time{}
		if words[1] == "bad" {
			p.badFrom = p.now
		}
	case "freeze":
		p.outside = nil
		if words[1] == "on" {
			p.outside = []rollout.Wait{{Kind: rollout.WaitFreeze, Subject: "year-end", Why: "until 2026-01-07"}}
		}
	case "preflight":
		p.checks = []rollout.Check{{Name: "flags at 0", Result: words[1]}}
	case "climb":
		p.climb(words[2:])
	default:
		return false
	}
	return true
}

// wire plays the store, the writes on their way to it, and other hands.
func (p *play) wire(line string, words []string) bool {
	switch {
	case words[0] == "flag" && strings.HasSuffix(words[2], "readable"):
		p.unread[slices.Index([]string{"reads", "writes"}, words[1])] = words[2] == "unreadable"
	case words[0] == "flag":
		p.hand(slices.Index([]string{"reads", "writes"}, words[1]), words[2])
	case slices.Contains([]string{"lose the answer", "lose the write", "refuse the writes of writes", "take the writes", "delay the write"}, line):
		p.fate = line
	case line == "the write lands":
		q := p.underWay[0]
		p.underWay = p.underWay[1:]
		_ = p.land(q.lane, q.change) // nobody waits for the answer any more
	case line == "the store cannot refuse":
		p.blunt = true
	default:
		return false
	}
	return true
}

// crowd plays the tasks.
func (p *play) crowd(words []string) bool {
	if words[0] != "tasks" {
		return false
	}
	switch n, _ := strconv.Atoi(words[len(words)-1]); words[1] {
	case "stay":
		p.stay = true
	case "follow":
		p.stay = false
		p.follow()
	case "few":
		p.few = n == 0
	case "stray":
		p.strays = n
	case "lag":
		p.lag = n
	case "replaced":
		p.replaced = n
	default:
		return false
	}
	return true
}

func (p *play) share(text string) flags.Share {
	share, err := flags.ParseShare(text)
	if err != nil {
		p.t.Fatal(err)
	}
	return share
}

// made stores a plan, with a few changes to it.
func (p *play) made(by string, changes []string) {
	for _, change := range changes {
		switch change {
		case "moving-data":
			p.plan.Kind = rollout.MovingData
		case "on_raise:restore":
			p.plan.OnRaise = rollout.OnRaiseRestore
		case "contains:burst":
			p.plan.Lanes[0].Stages[0].Contains = []string{"burst"}
		case "min_tasks:11":
			p.plan.Lanes[0].Stages[0].MinTasks = 11
		case "soak:night":
			p.plan.Soak.Contains = []string{"night"}
		default:
			p.t.Fatalf("a plan with %q", change)
		}
	}
	p.keep(&p.leader, &rollout.Event{Rollout: p.plan.Name, Kind: rollout.Planned, At: p.now, By: by, Plan: p.plan}, true)
	for _, lane := range p.plan.Lanes {
		var stages []string
		for _, s := range lane.Stages {
			text := fmt.Sprintf("%v for %v", s.Share, strings.TrimSuffix(s.Bake.String(), "0s"))
			if s.Approvals > 0 {
				text += fmt.Sprintf(" (%d approvals)", s.Approvals)
			}
			if s.Manual {
				text += " (go)"
			}
			stages = append(stages, text)
		}
		p.say("  %s: %s", lane.Name, strings.Join(stages, ", "))
	}
	p.lead()
}

// climb plans, starts and goes up, with all well and people at hand, until a lane
// bakes at a share or a phase is reached.
func (p *play) climb(to []string) {
	p.quiet = true
	if p.journal.Plan == nil {
		p.made("ann", nil)
		p.person([]string{"start", "ann"}, "")
	}
	for range 2000 {
		p.pass("1m")
		p.process("look")
		s := &p.journal
		l := slices.IndexFunc(s.Lanes, func(l rollout.Lane) bool { return l.Name == to[0] })
		if string(s.Phase) == to[0] || l >= 0 && s.Phase == rollout.Baking && s.Lanes[l].Intended == p.share(to[1]) {
			p.quiet = false
			return
		}
		for _, who := range []string{"ben", "cat"} {
			p.person([]string{"approve", who}, "")
		}
		p.person([]string{"advance", "ann"}, "")
	}
	p.t.Fatalf("never came to %v, but to %s", to, p.journal.Phase)
}

// foldAnew holds the journal's state against a fold of its events, and of its events as JSON.
func (p *play) foldAnew() {
	if again := rollout.Fold(p.events); !reflect.DeepEqual(again, p.journal) {
		p.t.Errorf("folding the events anew gives another state:\n%s", cmp.Diff(p.journal, again))
	}
	text, err := json.Marshal(p.events)
	var read []rollout.Event
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if diff := cmp.Diff(p.journal, rollout.Fold(read)); err != nil || diff != "" {
		p.t.Errorf("events do not survive JSON: %v\n%s", err, diff)
	}
}

// told says an event in a line.
func told(e *rollout.Event) string {
	text := e.At.Format("15:04:05 ") + strings.ReplaceAll(string(e.Kind), "_", " ")
	if e.By != rollout.Controller {
		text += " by " + e.By
	}
	switch {
	case e.Lane != "" && e.From != e.To:
		text += fmt.Sprintf(", %s %v→%v", e.Lane, e.From, e.To)
	case e.Kind == rollout.Stamped:
		text += ", " + e.Lane
	case e.Lane != "":
		text += fmt.Sprintf(", %s %v", e.Lane, e.To)
	}
	if e.Report != nil && !e.Report.Passed() {
		text += ", not passed"
	}
	for _, to := range e.Targets {
		if e.Kind == rollout.Checked {
			break // they only say where the flags are
		}
		text += fmt.Sprintf(", %s to %v", to.Lane, to.Share)
	}
	if e.Epoch > 0 {
		text += fmt.Sprintf(", epoch %d", e.Epoch)
	}
	if e.Hold != nil {
		text += ", hold " + string(e.Hold.Kind)
	}
	for _, kind := range e.Holds {
		text += ", ends " + string(kind)
	}
	if e.Page {
		text += ", PAGE"
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}
