package flipttest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
)

// page ends a list.
type page struct {
	Next  string `json:"nextPageToken"`
	Total int    `json:"totalCount"`
}

// pageToken is where the next page begins. Clients only hand it back.
type pageToken struct {
	Key    string `json:"key"`
	Offset int    `json:"offset"`
}

// paged returns the page of a list that a request asks for: all of it without a limit.
func paged[T any](r *http.Request, list []T) ([]T, page, error) {
	total := page{Total: len(list)}
	limit, err := strconv.Atoi(r.FormValue("limit"))
	token := r.FormValue("pageToken")
	switch {
	case err != nil && token != "":
		return nil, total, invalid("limit must be set when offset or pageToken is set")
	case err != nil || limit <= 0:
		return list, total, nil
	}
	var from pageToken
	if text, err := base64.StdEncoding.DecodeString(token); err != nil || token != "" && json.Unmarshal(text, &from) != nil {
		return nil, total, invalid("pageToken is not valid: %q", token)
	}
	list = list[min(from.Offset, len(list)):]
	if len(list) > limit {
		list = list[:limit]
		text, err := json.Marshal(pageToken{Offset: from.Offset + limit})
		if err != nil {
			return nil, total, err
		}
		total.Next = base64.StdEncoding.EncodeToString(text)
	}
	return list, total, nil
}

func (s *state) flagsV1(r *http.Request) (any, error) {
	n, err := s.namespace(r.PathValue("namespace"))
	if err != nil {
		return nil, err
	}
	list := make([]flagV1, 0, len(n.flags))
	for _, f := range n.flags {
		shown := f.v1(n.key)
		if shown.Metadata == nil {
			shown.Metadata = map[string]any{} // a list shows it even where there is none
		}
		list = append(list, shown)
	}
	list, at, err := paged(r, list)
	return struct {
		Flags []flagV1 `json:"flags"`
		page
	}{list, at}, err
}
