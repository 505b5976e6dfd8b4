package flipt

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// stampKey is our key in a flag's metadata.
const stampKey = "cutover"

// mark is a stamp as text. In v1, a fence's also says over which rollouts it was
// made, by their digest: the share in it is void for others.
type mark struct {
	flags.Stamp
	over string
}

// noRollout stands for a rollout without a name.
const noRollout = "-"

func (m mark) String() string {
	rollout := noRollout
	switch m.Rollout {
	case "":
	case noRollout:
		rollout = "%2D"
	default:
		rollout = url.PathEscape(m.Rollout)
	}
	words := []string{fmt.Sprintf("cutover %s %v epoch=%d seq=%d", rollout, m.Share, m.Epoch, m.Seq)}
	safe := ""
	if m.Safe != flags.None {
		safe = strconv.Itoa(int(m.Safe)) // its sign would need an escape
	}
	for _, word := range [][2]string{
		{"over", m.over}, {"lane", m.Lane}, {"class", m.Class}, {"safe", safe}, {"by", m.By},
	} {
		if word[1] != "" {
			words = append(words, word[0]+"="+url.PathEscape(word[1]))
		}
	}
	return strings.Join(words, " ")
}

// plainWords is how many words every mark has.
const plainWords = 5

// parseMark reads a mark as String writes it; anything else is somebody's own
// text. Words of a later program behind the ones that every mark has are passed over.
func parseMark(text string) (m mark, ok bool) {
	words := strings.Split(text, " ")
	if len(words) < plainWords {
		return mark{}, false
	}
	if words[1] != noRollout {
		rollout, err := url.PathUnescape(words[1])
		if err != nil {
			return mark{}, false
		}
		m.Rollout = rollout
	}
	share, err := flags.ParseShare(words[2])
	if err != nil {
		return mark{}, false
	}
	m.Share = share
	if _, err := fmt.Sscanf(words[3]+" "+words[4], "epoch=%d seq=%d", &m.Epoch, &m.Seq); err != nil {
		return mark{}, false
	}
	if m.String() != strings.Join(words[:plainWords], " ") {
		return mark{}, false
	}
	for _, word := range words[plainWords:] {
		if !m.add(word) {
			return mark{}, false
		}
	}
	return m, true
}

// add puts a word such as lane=reads into the mark.
func (m *mark) add(word string) bool {
	name, escaped, _ := strings.Cut(word, "=")
	value, err := url.PathUnescape(escaped)
	if name == "" || value == "" || err != nil {
		return false
	}
	switch name {
	case "over":
		m.over = value
	case "lane":
		m.Lane = value
	case "class":
		m.Class = value
	case "safe":
		m.Safe, err = flags.ParseShare(value)
	case "by":
		m.By = value
	default: // of a later program
	}
	return err == nil
}
