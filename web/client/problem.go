package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Problem is an answer that is not a success.
type Problem struct {
	Status    int               `json:"status"`
	Code      string            `json:"code"` // such as refused, conflict, not_found; see docs/api.md
	Detail    string            `json:"detail"`
	Problems  []rollout.Problem `json:"problems,omitempty"`
	Changed   *Changed          `json:"changed,omitempty"` // of a conflict
	RequestID string            `json:"request_id"`
}

// Changed says what came to pass since a rollout was looked at.
type Changed struct {
	Expected uint64   `json:"expected"` // the version that was looked at
	Now      uint64   `json:"now"`
	Events   []Change `json:"events"` // oldest first, and at most 20
}

// Change is one event in a few words.
type Change struct {
	Seq  uint64       `json:"seq"`
	Kind rollout.Kind `json:"kind"`
	By   string       `json:"by"`
	At   time.Time    `json:"at"`
	What string       `json:"what"`
}

func (p *Problem) Error() string { return p.Detail }

// problem reads a problem, or makes one of an answer that is something else,
// such as the page of a proxy in between.
func problem(resp *http.Response, text []byte) error {
	p := Problem{}
	if err := json.Unmarshal(text, &p); err != nil || p.Code == "" {
		p = Problem{
			Code:      "foreign",
			Detail:    fmt.Sprintf("something that is not a Cutover server answered %s", resp.Status),
			RequestID: resp.Header.Get("X-Request-Id"),
		}
	}
	p.Status = resp.StatusCode
	return &p
}
