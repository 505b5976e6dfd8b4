package ofrep

import (
	"fmt"
	"net/http"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// document is Flipt's snapshot of a namespace, as far as our flags fill it.
type document struct {
	Namespace struct {
		Key string `json:"key"`
	} `json:"namespace"`
	Flags  []flag `json:"flags"`
	Digest string `json:"digest"`
}

type flag struct {
	Key         string     `json:"key"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Enabled     bool       `json:"enabled"` // what a task outside the threshold gets: the source
	Type        string     `json:"type"`
	Rules       []struct{} `json:"rules"`
	Rollouts    []rollout  `json:"rollouts"`
}

type rollout struct {
	Type      string    `json:"type"`
	Rank      int       `json:"rank"`
	Threshold threshold `json:"threshold"`
}

type threshold struct {
	Percentage flags.Share `json:"percentage"`
	Value      bool        `json:"value"`
}

func (h handler) snapshot(w http.ResponseWriter, r *http.Request) {
	if name := r.PathValue("environment"); name != "" && name != environment {
		problem(w, http.StatusNotFound, fmt.Sprintf("environment %q: there is only %q", name, environment))
		return
	}
	namespace := r.PathValue("namespace")
	keys, settings := h.in(namespace)
	if len(keys) == 0 { // as Flipt: most likely a name typed wrongly
		problem(w, http.StatusNotFound, fmt.Sprintf("namespace %q holds no flags", namespace))
		return
	}
	var doc document
	doc.Namespace.Key = namespace
	for _, key := range keys {
		doc.Flags = append(doc.Flags, asFlipt(key, settings[key]))
	}
	doc.Digest = digest(doc.Flags)
	answerTagged(w, r, doc.Digest, doc)
}

func asFlipt(key flags.Key, setting flags.Setting) flag {
	return flag{
		Key:   key.Name,
		Name:  key.Name,
		Type:  "BOOLEAN_FLAG_TYPE",
		Rules: []struct{}{},
		Rollouts: []rollout{{
			Type: "THRESHOLD_ROLLOUT_TYPE", Rank: 1,
			Threshold: threshold{Percentage: setting.Share, Value: true},
		}},
	}
}
