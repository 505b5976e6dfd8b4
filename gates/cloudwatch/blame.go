package cloudwatch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/seed-c8cbbb61/cutover/gates"
)

// action is the permission that reading needs.
const action = "cloudwatch:GetMetricData"

// blame says why an error leaves a series unknown, in a word and for a person.
func blame(err error) (gates.Cause, string) {
	code, message := said(err)
	status := 0
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status = response.HTTPStatusCode()
	}
	_, throttles := retry.DefaultThrottleErrorCodes[code]
	switch {
	case errors.Is(err, errRepeats), errors.Is(err, errEndless):
		return gates.Partial, err.Error()
	case errors.Is(err, errNoRegion):
		return gates.Config, err.Error()
	case throttles || status == http.StatusTooManyRequests:
		return gates.Throttled, fmt.Sprintf("%s is throttled: %s", action, message)
	case isForbidden(code) || status == http.StatusForbidden || status == http.StatusUnauthorized:
		return gates.Forbidden, fmt.Sprintf("%s is refused: %s", action, message)
	case isInvalid(err):
		return gates.Config, fmt.Sprintf("the service refuses to read this: %s", message)
	case errors.Is(err, context.Canceled):
		return gates.Failed, "the reading was ended"
	case errors.Is(err, context.DeadlineExceeded):
		return gates.Failed, "no answer in time"
	default:
		return gates.Failed, message
	}
}

// said returns the code of an error of the service, and what it says without
// all that the SDK wraps around it.
func said(err error) (code, message string) {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode(), api.ErrorCode() + ": " + api.ErrorMessage()
	}
	return "", err.Error()
}

// isForbidden reports whether a code says that we may not read.
func isForbidden(code string) bool {
	switch strings.TrimSuffix(code, "Exception") {
	case "AccessDenied", "ExpiredToken", "UnrecognizedClient", "InvalidClientTokenId", "InvalidSignature",
		"SignatureDoesNotMatch", "MissingAuthenticationToken", "IncompleteSignature", "OptInRequired", "NotAuthorized":
		return true
	default:
		return false
	}
}

// isInvalid reports whether the service finds fault with what it is asked.
func isInvalid(err error) bool {
	if err == nil {
		return false
	}
	code, _ := said(err)
	switch strings.TrimSuffix(code, "Exception") {
	case "ValidationError", "Validation", "InvalidParameterValue", "InvalidParameterCombination", "MissingParameter", "MissingRequiredParameter":
		return true
	default:
		return false
	}
}

// join appends a note to others, once.
func join(notes, note string) string {
	switch {
	case notes == "":
		return note
	case note == "" || strings.Contains(notes, note):
		return notes
	default:
		return notes + "; " + note
	}
}

// longest is how many bytes a note may have.
const longest = 300

// short cuts a note that nobody would read to its end.
func short(note string) string {
	if len(note) <= longest {
		return note
	}
	cut := longest
	for !utf8.RuneStart(note[cut]) {
		cut--
	}
	return note[:cut] + "…"
}
