package ofrep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// maxBody bounds the evaluation context that a caller may send.
const maxBody = 64 << 10

type evaluation struct {
	Key      string   `json:"key"`
	Reason   string   `json:"reason"`
	Variant  string   `json:"variant"`
	Metadata metadata `json:"metadata"`
	Value    bool     `json:"value"`
}

// metadata lets a task that cannot see the flag report the share all the same.
type metadata struct {
	Share flags.Share `json:"share"`
}

// refusal is OFREP's error, with the status that it goes with.
type refusal struct {
	status  int
	Key     string `json:"key,omitempty"`
	Code    string `json:"errorCode"`
	Details string `json:"errorDetails"`
}

func (r *refusal) answer(w http.ResponseWriter) {
	answer(w, r.status, "application/json", r)
}

func (h handler) evaluateOne(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("key")
	task, refused := subject(w, r)
	if refused != nil {
		refused.Key = name
		refused.answer(w)
		return
	}
	setting, err := h.flags.Read(r.Context(), flags.Key{Namespace: namespace(r), Name: name})
	switch {
	case errors.Is(err, flags.ErrNotFound):
		refused = &refusal{
			http.StatusNotFound, name, "FLAG_NOT_FOUND",
			fmt.Sprintf("namespace %q has no flag %q", namespace(r), name),
		}
		refused.answer(w)
	case err != nil:
		refused = &refusal{http.StatusInternalServerError, name, "GENERAL", "the flag could not be read"}
		refused.answer(w)
	default:
		answer(w, http.StatusOK, "application/json", evaluate(name, task, setting))
	}
}

func (h handler) evaluateAll(w http.ResponseWriter, r *http.Request) {
	task, refused := subject(w, r)
	if refused != nil {
		refused.answer(w)
		return
	}
	keys, settings := h.in(namespace(r))
	body := struct {
		Flags []evaluation `json:"flags"`
	}{Flags: make([]evaluation, 0, len(keys))}
	for _, key := range keys {
		body.Flags = append(body.Flags, evaluate(key.Name, task, settings[key]))
	}
	answerTagged(w, r, digest(body), body)
}

func evaluate(name, task string, setting flags.Setting) evaluation {
	on := setting.Share.Holds(name, task)
	reason := "DEFAULT"
	if on {
		reason = "TARGETING_MATCH"
	}
	return evaluation{
		Key:      name,
		Reason:   reason,
		Variant:  strconv.FormatBool(on),
		Metadata: metadata{setting.Share},
		Value:    on,
	}
}

func namespace(r *http.Request) string {
	if name := r.Header.Get("X-Flipt-Namespace"); name != "" {
		return name
	}
	return "default"
}

// subject reads which task a request is about. It never makes one up.
func subject(w http.ResponseWriter, r *http.Request) (string, *refusal) {
	if name := r.Header.Get("X-Flipt-Environment"); name != "" && name != environment {
		return "", bad("GENERAL", fmt.Sprintf("environment %q: there is only %q", name, environment))
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		refused := bad("PARSE_ERROR", fmt.Sprintf("the body is larger than %d bytes", large.Limit))
		refused.status = http.StatusRequestEntityTooLarge
		return "", refused
	}
	if err != nil {
		return "", bad("PARSE_ERROR", "the body could not be read")
	}
	return targetingKey(data)
}

func targetingKey(data []byte) (string, *refusal) {
	var body struct {
		Context map[string]json.RawMessage `json:"context"`
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return "", bad("PARSE_ERROR", `the body must be JSON such as {"context":{"targetingKey":"..."}}: `+err.Error())
	}
	raw, ok := body.Context["targetingKey"]
	if !ok {
		return "", bad("TARGETING_KEY_MISSING", "context.targetingKey must say which task asks")
	}
	var task string
	if err := json.Unmarshal(raw, &task); err != nil {
		return "", bad("INVALID_CONTEXT", "context.targetingKey must be text")
	}
	if task == "" {
		return "", bad("TARGETING_KEY_MISSING", "context.targetingKey must not be empty")
	}
	return task, nil
}

func bad(code, details string) *refusal {
	return &refusal{status: http.StatusBadRequest, Code: code, Details: details}
}
