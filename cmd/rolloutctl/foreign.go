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
	explained := map[string]string{}
	for said, verbs := range map[string]string{
		"hold keeps the shares where they are; rollback takes them to 0%":                                   "abort stop pause suspend halt",
		"hold keeps the shares where they are; rollback takes them to 0%; withdraw gives up at 0%":          "cancel",
		"rollback takes shares to 0%; break-glass does so with nothing but the flag store":                  "kill panic",
		"hold-all holds everything, and release-all ends that":                                              "stop-all start-all emergency-stop pause-all",
		"advance gives the go for the next stage, once its bake and gates allow it; nothing skips them":     "promote go proceed next switch cutover step",
		"resume ends a hold; advance gives the go for the next stage, once its bake and gates allow it":     "continue unpause unhold",
		"no stage, bake or gate can be skipped":                                                             "skip force override bypass",
		"rollback takes shares down; after it, retry makes a new attempt":                                   "undo revert back restart rerun reset",
		"reject says no to what waits for approval, with a reason":                                          "deny decline veto",
		"complete ends a soaked rollout: the old path may go":                                               "finalize finish cleanup done",
		"list shows all rollouts, status one":                                                               "get show describe ls ps",
		"status NAME -w watches one rollout; wait NAME --for … waits for something":                         "watch top",
		"nothing is deleted; withdraw gives up a rollout at 0%":                                             "delete remove rm destroy",
		"events shows what came to pass; audit shows who did it, and proves it":                             "log logs history",
		"plan apply FILE stores a plan; start begins it":                                                    "apply create new deploy run",
		"plan validate FILE checks a plan":                                                                  "validate lint check",
		"plan amend changes the plan of a rollout that is held; plan apply FILE replaces that of a draft":   "amend edit set update patch",
		"plan diff and plan show show plans":                                                                "diff",
		"plan import writes a plan from a flag that is there; adopt takes over what another hand has begun": "import takeover",
		"login keeps a server and its token in a profile; profile list shows them":                          "config auth context",
	} {
		for verb := range strings.FieldsSeq(verbs) {
			explained[verb] = said
		}
	}
	return explained
}
