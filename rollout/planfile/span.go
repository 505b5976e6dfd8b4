package planfile

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

var spanPattern = regexp.MustCompile(`^([0-9]{1,4}d)?([0-9]+(\.[0-9]+)?(h|m|s|ms|us|µs|ns))*$`)

// parseSpan reads a duration such as 90s, 1h30m or 7d.
func parseSpan(text string) (time.Duration, bool) {
	if text == "" || !spanPattern.MatchString(text) {
		return 0, false
	}
	var total time.Duration
	if days, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil {
			return 0, false
		}
		total, text = time.Duration(n)*day, rest
	}
	if text == "" {
		return total, true
	}
	d, err := time.ParseDuration(text)
	return total + d, err == nil && total+d >= 0
}
