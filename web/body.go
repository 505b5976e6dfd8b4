package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// How long a body may be.
const (
	bodyLimit   = 1 << 20
	reportLimit = 256 << 10
)

// negotiate returns which of the offered media types is wanted most; of those
// that are wanted alike, the first.
func negotiate(accept, offers []string) (string, error) {
	if len(accept) == 0 {
		return offers[0], nil
	}
	best, most := "", 0.0
	for _, offer := range offers {
		if q := wanted(accept, offer); q > most {
			best, most = offer, q
		}
	}
	if best == "" {
		return "", &fault{
			status: http.StatusNotAcceptable, code: NotAcceptable,
			detail: "Accept: only " + strings.Join(offers, ", ") + " is served",
		}
	}
	return best, nil
}

// wanted returns the weight, from 0 to 1, that the closest entry gives to a kind.
func wanted(accept []string, kind string) float64 {
	weight, closest := 0.0, 0
	for _, value := range accept {
		for entry := range strings.SplitSeq(value, ",") {
			wants, params, err := mime.ParseMediaType(entry)
			near := closeness(wants, kind)
			if err != nil || near <= closest {
				continue
			}
			weight, closest = 1, near
			if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
				weight = q
			}
		}
	}
	return weight
}

// closeness says how closely an entry of Accept names a kind; 0 is not at all.
// Problems are JSON, too.
func closeness(entry, kind string) int {
	group, _, _ := strings.Cut(kind, "/")
	switch {
	case entry == kind:
		return 4
	case entry == problemKind && kind == jsonKind:
		return 3
	case entry == group+"/*":
		return 2
	case entry == "*/*":
		return 1
	}
	return 0
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
