package flipt

import (
	"fmt"
	"net/url"
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
	text := fmt.Sprintf("cutover %s %v epoch=%d seq=%d", rollout, m.Share, m.Epoch, m.Seq)
	if m.over != "" {
		text += " over=" + m.over
	}
	return text
}

// parseMark reads a mark exactly as String writes it; anything else is somebody's own text.
func parseMark(text string) (m mark, ok bool) {
	words := strings.Split(text, " ")
	if len(words) != 5 && len(words) != 6 {
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
	if len(words) == 6 {
		m.over = strings.TrimPrefix(words[5], "over=")
	}
	if m.String() != text {
		return mark{}, false
	}
	return m, true
}
