package main

import (
	"strings"
)

// foreignVerb explains a verb that other tools have and we do not. Which of ours
// is meant, is never guessed: they differ in what happens to the traffic.
func foreignVerb(message string) (string, bool) {
	rest, found := strings.CutPrefix(message, "unexpected argument ")
	if !found {
		return "", false
	}
	verb, _, _ := strings.Cut(rest, ",")
	said, known := foreign()[verb]
	if !known {
		return "", false
	}
	return `there is no "` + verb + `": ` + said, true
}

// foreign has the verbs of other tools.
func foreign() map[string]string {
	const (
		stops  = "hold keeps the shares where they are; rollback takes them to 0%"
		raises = "advance gives the go for the next stage, once its bake and gates allow it; nothing skips them"
		back   = "rollback takes shares down; after it, retry makes a new attempt"
	)
	return map[string]string{
		"promote": raises, "go": raises, "proceed": raises, "continue": "resume ends a hold; " + raises,
		"skip":  "no stage, bake or gate can be skipped",
		"abort": stops, "cancel": stops + "; withdraw gives up at 0%", "stop": stops, "pause": stops, "suspend": stops,
		"kill": stops, "undo": back, "revert": back, "back": back, "restart": back,
		"reset":    back,
		"finalize": "complete ends a soaked rollout: the old path may go", "finish": "complete ends a soaked rollout: the old path may go",
		"get": "list shows all rollouts, status one", "show": "list shows all rollouts, status one",
		"describe": "status shows one rollout", "watch": "status NAME -w watches one rollout",
		"delete": "nothing is deleted; withdraw gives up a rollout at 0%", "log": "events shows what came to pass",
		"logs": "events shows what came to pass", "history": "events shows what came to pass",
		"apply": "plan apply FILE stores a plan", "validate": "plan validate FILE checks a plan",
		"lint": "plan validate FILE checks a plan", "create": "plan apply FILE stores a plan, start begins it",
	}
}
