package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// How long a body may be.
const (
	bodyLimit   = 1 << 20
	reportLimit = 256 << 10
)

// accepts reports whether JSON may be answered.
func accepts(values []string) bool {
	if len(values) == 0 {
		return true
	}
	for _, value := range values {
		for entry := range strings.SplitSeq(value, ",") {
			kind, params, err := mime.ParseMediaType(entry)
			if err != nil {
				continue
			}
			if q, err := strconv.ParseFloat(params["q"], 64); err == nil && q == 0 {
				continue
			}
			if slices.Contains([]string{"*/*", "application/*", "application/json", "application/problem+json"}, kind) {
				return true
			}
		}
	}
	return false
}

// body reads a body of one media type, in UTF-8.
func (c *call) body(kind string, limit int64) ([]byte, error) {
	got, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || got != kind || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return nil, unsupported(fmt.Sprintf("Content-Type %q: must be %s", c.r.Header.Get("Content-Type"), kind))
	}
	if coding := c.r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, unsupported(fmt.Sprintf("Content-Encoding %q: send it as it is", coding))
	}
	text, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, &fault{
			status: http.StatusRequestEntityTooLarge, code: TooLarge,
			detail: fmt.Sprintf("the body is longer than %d KiB", limit>>10),
		}
	case err != nil:
		return nil, bad("body", "", "could not be read to its end")
	case len(bytes.TrimSpace(text)) == 0:
		return nil, bad("body", "", "is empty")
	case !utf8.Valid(text):
		return nil, bad("body", "", "is not UTF-8")
	}
	return text, nil
}

func unsupported(detail string) error {
	return &fault{status: http.StatusUnsupportedMediaType, code: UnsupportedMedia, detail: detail}
}
