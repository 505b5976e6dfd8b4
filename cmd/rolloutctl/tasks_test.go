package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

func TestATaskWithOldConnectionsSaysWhenTheyEnd(t *testing.T) {
	plan := &rollout.Plan{Services: []rollout.Service{{Name: "checkout", PoolLifetime: time.Minute}, {Name: "cart"}}}
	for name, tt := range map[string]struct {
		service string
		oldest  float64
		want    string
	}{
		"none is old":                {"checkout", 0, ""},
		"the pool ends them in time": {"checkout", 44.6, "in 15s"},
		"the pool should have":       {"checkout", 75, "late: older than pool_lifetime, 1m"},
		"nobody knows":               {"cart", 44, "unknown: no pool_lifetime in the plan"},
		"of no service of the plan":  {"basket", 44, "unknown: no pool_lifetime in the plan"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &page{Status: &rollout.Status{State: rollout.State{Plan: plan}}}
			if got := p.follows(tt.service, &rollout.TaskLane{OldestOldSecond: tt.oldest}); got != tt.want {
				t.Errorf("said %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTasksAreARowForEachLaneAndCountedFirst(t *testing.T) {
	status := at(rollout.Baking, 25)
	status.State.Plan.Services = []rollout.Service{{Name: "checkout", PoolLifetime: time.Minute}}
	status.Lanes[1].Unread = "timeout"
	p := &page{signs: unicodeSigns(), Status: status, now: noon, zone: time.UTC}
	got := strings.Join(append(p.taskCounts(map[string]map[rollout.TaskUse]int{
		"reads": {rollout.OnTarget: 102, rollout.OnSource: 308, rollout.Lagging: 1, rollout.Silent: 1},
	}, ""), p.taskTable([]rollout.TaskStatus{{
		Task: "t-17", Service: "checkout", Version: "2.4.0", HeardAt: ago(3 * time.Second),
		Lanes: []rollout.TaskLane{
			{Lane: "reads", Bucket: 7, Use: rollout.Lagging, Endpoint: "orders.cluster-x.example:3306", Open: 12, OldestOldSecond: 31},
			{Lane: "writes", Bucket: 99, Use: rollout.Mute},
		},
	}})...), "\n")
	want := `
LANE    PUBLISHED  TARGET  SOURCE  LAGGING  STRAY  SILENT  MUTE
reads         25%     102     308        1      0       1     0
writes          ?       0       0        0      0       0     0
   TASK  SERVICE   VERSION  LANE    BUCKET  USE      ENDPOINT                       OPEN  OLDEST OLD  HEARD  FOLLOWS
▲  t-17  checkout  2.4.0    reads        7  lagging  orders.cluster-x.example:3306    12         31s     3s  in 29s
?  t-17  checkout  2.4.0    writes      99  mute     -                                 0           -     3s`
	if diff := cmp.Diff(strings.TrimSpace(want), got); diff != "" {
		t.Error(diff)
	}
}
