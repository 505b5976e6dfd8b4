package rollout

import (
	"testing"

	"github.com/seed-c8cbbb61/cutover/flags"
)

func TestARequestIsRepeatedOnlyByTheSameCommand(t *testing.T) {
	to := func(pairs ...LaneShare) []LaneShare { return pairs }
	reads, writes := func(s flags.Share) LaneShare { return LaneShare{Lane: "reads", Share: s} }, func(s flags.Share) LaneShare { return LaneShare{Lane: "writes", Share: s} }
	allDown := to(reads(0), writes(0))
	for name, tt := range map[string]struct {
		event Event
		cmd   Command
		want  bool
	}{
		"the same hold":                   {Event{Kind: HeldOn, Hold: &Hold{Kind: HoldPerson}}, Command{Verb: HoldIt, Reason: "said otherwise"}, true},
		"a hold by somebody else":         {Event{Kind: HeldOn, Hold: &Hold{Kind: HoldPerson}, By: "ben"}, Command{Verb: HoldIt}, false},
		"a hold that hold-all put on":     {Event{Kind: HeldOn, Hold: &Hold{Kind: HoldAll}}, Command{Verb: HoldIt}, false},
		"another verb":                    {Event{Kind: HeldOn, Hold: &Hold{Kind: HoldPerson}}, Command{Verb: Resume}, false},
		"no verb":                         {Event{Kind: HeldOn, Hold: &Hold{Kind: HoldPerson}}, Command{}, false},
		"a rollback of all":               {Event{Kind: Lowered, Targets: allDown}, Command{Verb: Rollback}, true},
		"all, and it named one":           {Event{Kind: Lowered, Targets: to(writes(0))}, Command{Verb: Rollback, To: to(reads(0))}, false},
		"one, and it was to less":         {Event{Kind: Lowered, Targets: to(reads(0), writes(0))}, Command{Verb: Rollback, To: to(reads(10))}, false},
		"one, and it was to more":         {Event{Kind: Lowered, Targets: to(reads(10))}, Command{Verb: Rollback, To: to(reads(0))}, false},
		"all, and it was one to more":     {Event{Kind: Lowered, Targets: to(reads(10), writes(0))}, Command{Verb: Rollback}, false},
		"one that took its writes along":  {Event{Kind: Lowered, Targets: to(writes(10), reads(10))}, Command{Verb: Rollback, To: to(reads(10))}, true},
		"two, writes further down":        {Event{Kind: Lowered, Targets: to(writes(10), reads(10))}, Command{Verb: Rollback, To: to(reads(10), writes(50))}, true},
		"the same step":                   {Event{Kind: Approved, Lane: "reads", To: 25}, Command{Verb: Approve, To: to(reads(25))}, true},
		"whatever the step was":           {Event{Kind: Approved, Lane: "reads", To: 25}, Command{Verb: Approve}, true},
		"another step":                    {Event{Kind: Advanced, Lane: "reads", To: 25}, Command{Verb: Advance, To: to(reads(50))}, false},
		"an amendment that was approved":  {Event{Kind: Amended, Loosens: []string{"soak.for"}}, Command{Verb: Approve}, true},
		"an amendment that needed nobody": {Event{Kind: Amended}, Command{Verb: Approve}, false},
		"the same takeover":               {Event{Kind: TakenOver, Targets: to(reads(25), writes(0))}, Command{Verb: Adopt, To: to(reads(25))}, true},
		"another takeover":                {Event{Kind: TakenOver, Targets: to(reads(25), writes(0))}, Command{Verb: Adopt, To: to(reads(10))}, false},
		"the same note":                   {Event{Kind: Noted, Why: "a"}, Command{Verb: Note, Reason: "a"}, true},
		"another note":                    {Event{Kind: Noted, Why: "a"}, Command{Verb: Note, Reason: "b"}, false},
		"offered to the same":             {Event{Kind: Offered, Subject: "ben"}, Command{Verb: HandOver, Person: "ben"}, true},
		"offered to another":              {Event{Kind: Offered, Subject: "ben"}, Command{Verb: HandOver, Person: "eve"}, false},
		"what was refused":                {Event{Kind: Refused, Command: &Command{Verb: Advance}}, Command{Verb: Advance}, true},
		"what was refused, another verb":  {Event{Kind: Refused, Command: &Command{Verb: Advance}}, Command{Verb: Rollback}, false},
		"what was refused, another share": {Event{Kind: Refused, Command: &Command{Verb: Rollback, To: to(reads(10))}}, Command{Verb: Rollback}, false},
		"a refusal that names nothing":    {Event{Kind: Refused}, Command{Verb: Rollback}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tt.cmd.By = "ann"
			if tt.event.By == "" {
				tt.event.By = "ann"
			}
			if got := tt.event.Answers(&tt.cmd); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestEveryVerbHasAnEffectThatItsRepetitionIsKnownBy(t *testing.T) {
	for _, verb := range Verbs() {
		if len(effects[verb]) == 0 {
			t.Errorf("%s has none", verb)
		}
	}
}

func TestARequestOfTheHouseIsRepeatedOnlyByTheSameCommand(t *testing.T) {
	for name, tt := range map[string]struct {
		event Event
		cmd   HouseCommand
		want  bool
	}{
		"the same freeze":         {Event{Kind: Frozen, Freeze: &Freeze{Database: "a"}}, HouseCommand{Verb: Freezing, Database: "a"}, true},
		"of another database":     {Event{Kind: Frozen, Freeze: &Freeze{Database: "a"}}, HouseCommand{Verb: Freezing, Database: "b"}, false},
		"the end of a freeze":     {Event{Kind: Thawed, Subject: "a"}, HouseCommand{Verb: Thaw, Database: "a"}, true},
		"of another's freeze":     {Event{Kind: Thawed, Subject: "a"}, HouseCommand{Verb: Thaw, Database: "b"}, false},
		"the same deploy":         {Event{Kind: Disturbed, Trouble: &Disturbance{Database: "a", What: "x"}}, HouseCommand{Verb: Disturb, Database: "a", What: "x"}, true},
		"another deploy":          {Event{Kind: Disturbed, Trouble: &Disturbance{Database: "a", What: "x"}}, HouseCommand{Verb: Disturb, Database: "a", What: "y"}, false},
		"its end, not its begin":  {Event{Kind: Quieted, Trouble: &Disturbance{Database: "a", What: "x"}}, HouseCommand{Verb: Disturb, Database: "a", What: "x"}, false},
		"asked to release":        {Event{Kind: ReleaseDue}, HouseCommand{Verb: ReleaseAll}, true},
		"held, not released":      {Event{Kind: HeldAll}, HouseCommand{Verb: ReleaseAll}, false},
		"a token":                 {Event{Kind: TokenMade, Subject: "ben"}, HouseCommand{Verb: MakeToken, Subject: "ben"}, true},
		"another token":           {Event{Kind: TokenMade, Subject: "ben"}, HouseCommand{Verb: MakeToken, Subject: "eve"}, false},
		"what was refused":        {Event{Kind: Refused, Subject: "thaw"}, HouseCommand{Verb: Thaw}, true},
		"what was refused, other": {Event{Kind: Refused, Subject: "thaw"}, HouseCommand{Verb: Freezing}, false},
		"by somebody else":        {Event{Kind: HeldAll, By: "ben"}, HouseCommand{Verb: HoldForAll}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tt.cmd.By = "ann"
			if tt.event.By == "" {
				tt.event.By = "ann"
			}
			if got := tt.event.AnswersHouse(&tt.cmd); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
