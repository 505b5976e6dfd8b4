package flags

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// Share is how many of 100 tasks use the target, in whole percent.
// Flipt's hash has 100 buckets, so a finer share cannot be served.
type Share int

// The two ends of a rollout.
const (
	None Share = 0
	All  Share = 100
)

// Valid reports whether s lies in 0…100.
func (s Share) Valid() bool { return None <= s && s <= All }

func (s Share) String() string { return strconv.Itoa(int(s)) + "%" }

// ParseShare reads a share such as "25%" or "25".
func ParseShare(text string) (Share, error) {
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "%")))
	if err != nil || !Share(n).Valid() {
		return None, fmt.Errorf("share %q: must be a whole percentage from 0%% to 100%%", text)
	}
	return Share(n), nil
}

// Key names a flag. Flipt keeps flags in namespaces; the hash knows only the name.
type Key struct {
	Namespace string `json:"namespace"`
	Name      string `json:"key"`
}

func (k Key) String() string { return k.Namespace + "/" + k.Name }

// buckets is the grain of a Flipt threshold rollout.
const buckets = 100

// Bucket returns the bucket, 0…99, of a targeting key under a flag:
// CRC32-IEEE(targeting key + flag key) mod 100, as Flipt v1.61 and v2.11 compute
// it (internal/server/evaluation). Namespace and environment do not matter;
// another flag key shuffles all tasks anew.
func Bucket(flagKey, targetingKey string) int {
	sum := crc32.ChecksumIEEE([]byte(targetingKey + flagKey))
	return int(sum % buckets)
}

// Holds reports whether a task uses the target at share s.
func (s Share) Holds(flagKey, targetingKey string) bool {
	return Bucket(flagKey, targetingKey) < int(s)
}

// TargetingKey returns what a task is hashed by: the lower-case hex SHA-256 of its id.
func TargetingKey(taskID string) string {
	sum := sha256.Sum256([]byte(taskID))
	return hex.EncodeToString(sum[:])
}
