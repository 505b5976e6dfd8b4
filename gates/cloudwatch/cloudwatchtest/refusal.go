package cloudwatchtest

import (
	"fmt"
	"net/http"
)

// refusal is an answer that says no. An error has two names: the shape, and the
// code that the oldest protocol gave it, which SDKs go by in all of them.
type refusal struct {
	status  int
	shape   string
	code    string
	message string
}

func invalid(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, "ValidationException", "ValidationError", fmt.Sprintf(format, args...)}
}

func unfit(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, "InvalidParameterValueException", "InvalidParameterValue", fmt.Sprintf(format, args...)}
}

func missing(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, "MissingRequiredParameterException", "MissingParameter", fmt.Sprintf(format, args...)}
}

// fault says who is to blame, as the header that names the code does.
func (r *refusal) fault() string {
	if r.status >= http.StatusInternalServerError {
		return "Receiver"
	}
	return "Sender"
}

// messageKey is what the message is called: the model does not name it alike.
func (r *refusal) messageKey() string {
	switch r.shape {
	case "InternalServiceFault", "LimitExceededException":
		return "Message"
	default:
		return "message"
	}
}
