package web

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// etag names the bytes of an answer: the same bytes, the same name.
func etag(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// matches reports whether whoever asks has the answer already. As for every
// look, a weak name counts as its strong one.
func matches(values []string, tag string) bool {
	for _, value := range values {
		for entry := range strings.SplitSeq(value, ",") {
			entry = strings.TrimSpace(entry)
			if entry == "*" || strings.TrimPrefix(entry, "W/") == tag {
				return true
			}
		}
	}
	return false
}
