package flipt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/seed-c8cbbb61/cutover/flags"
)

// Flipt's names of what we read.
const (
	booleanFlag      = "BOOLEAN_FLAG_TYPE"
	thresholdRollout = "THRESHOLD_ROLLOUT_TYPE"
)

// errMoved says that a write met something else than was read, and was refused.
var errMoved = errors.New("flipt has moved on since the flag was read")

// object is JSON with everything in it, known to us or not.
type object = map[string]any

// found is a flag as it was read: what it means, and all that a write gives back.
type found struct {
	setting  flags.Setting
	foreign  error // its share cannot be known; the setting's is 100 % then
	odd      error // its share is known, but a raise must not build on what it is made of
	flag     object
	rollouts []object

	environment string // where it is evaluated; v2 only
	head        string // the revision of the branch it was read from; v2 only
}

// judge says which share of all tasks Flipt serves by the flag: its rollouts are
// tried in order, and whom none holds gets what the flag says by itself.
func (f *found) judge() {
	share, err := f.served()
	if err != nil {
		f.setting.Share, f.foreign = flags.All, fmt.Errorf("%w: %w", flags.ErrForeign, err)
		return
	}
	if share < 0 || share > 100 {
		f.odd = fmt.Errorf("%w: its threshold is at %v %%, and must be from 0 to 100", flags.ErrForeign, share)
	}
	// Flipt compares whole buckets with a 32-bit fraction: what is left over is one bucket more.
	f.setting.Share = flags.Share(math.Ceil(min(max(share, 0), 100)))
	if enabled, _ := f.flag["enabled"].(bool); enabled {
		f.setting.Share = flags.All
	}
	f.setting = f.setting.Signed()
}

// served is the percentage that the rollouts give true to.
func (f *found) served() (percentage float64, err error) {
	switch {
	case f.flag["type"] != booleanFlag:
		return 0, fmt.Errorf("it is of type %v, and must be %s", f.flag["type"], booleanFlag)
	case len(f.rollouts) > 1:
		return 0, fmt.Errorf("it has %d rollouts, and must have one", len(f.rollouts))
	case len(f.rollouts) == 0:
		return 0, nil
	case f.rollouts[0]["type"] != thresholdRollout:
		return 0, fmt.Errorf("its rollout is of type %v, and must be %s", f.rollouts[0]["type"], thresholdRollout)
	}
	threshold, _ := f.rollouts[0]["threshold"].(object)
	if gives, _ := threshold["value"].(bool); !gives {
		return 0, errors.New("its threshold gives false, and must give true")
	}
	return percentageOf(threshold)
}

func percentageOf(threshold object) (float64, error) {
	switch p := threshold["percentage"].(type) {
	case nil: // the zero value, not shown
		return 0, nil
	case json.Number:
		percentage, err := strconv.ParseFloat(p.String(), 32)
		if err != nil {
			return 0, fmt.Errorf("its percentage %s is not a number", p)
		}
		return percentage, nil
	default:
		return 0, fmt.Errorf("its percentage %v is not a number", p)
	}
}

// admits says why a change must not be written over the flag, if so.
func (f found) admits(change flags.Change) error {
	switch {
	case kills(change) && f.flag["type"] == booleanFlag:
		return nil
	case kills(change):
		return fmt.Errorf("%w; a person has to delete it and create a boolean flag", f.foreign)
	case f.foreign != nil:
		return f.foreign
	case change.Kind == flags.Raise:
		return f.odd
	}
	return nil
}

// kills reports whether a change lowers to 0, which nothing may stand in the way of.
func kills(change flags.Change) bool {
	return change.Kind == flags.Lower && change.Share == flags.None
}

// stays reports whether a write leaves the rules as they are. A fence does, but a
// flag without a rollout gets one, lest we ever write a flag without.
func (f found) stays(kind flags.Kind) bool { return kind == flags.Fence && len(f.rollouts) > 0 }

// threshold is the part of a rollout that a share is written to; what else it holds stays.
func threshold(rollout object, share flags.Share) object {
	t, _ := rollout["threshold"].(object)
	if t == nil {
		t = object{}
	}
	t["percentage"], t["value"] = int(share), true
	return t
}

// metadata returns a flag's metadata for writing.
func metadata(flag object) object {
	m, _ := flag["metadata"].(object)
	if m == nil {
		m = object{}
		flag["metadata"] = m
	}
	return m
}

// replacedKey is where metadata keeps the rules that a lowering to 0 has taken off.
const replacedKey = "cutover-replaced"

// keepReplaced adds rollouts to those that metadata keeps. They are text, since
// Flipt's metadata is for plain values.
func keepReplaced(metadata object, gone []object) error {
	var kept []json.RawMessage
	if text, ok := metadata[replacedKey].(string); ok && json.Unmarshal([]byte(text), &kept) != nil {
		quoted, err := json.Marshal(text)
		if err != nil {
			return fmt.Errorf("keeping the flag's rules: %w", err)
		}
		kept = []json.RawMessage{quoted} // somebody has edited it
	}
	for _, rollout := range gone {
		text, err := json.Marshal(rollout)
		if err != nil {
			return fmt.Errorf("keeping the flag's rules: %w", err)
		}
		same := func(one json.RawMessage) bool { return bytes.Equal(one, text) }
		if !slices.ContainsFunc(kept, same) {
			kept = append(kept, text)
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("keeping the flag's rules: %w", err)
	}
	metadata[replacedKey] = string(text)
	return nil
}

// objects reads a list of objects; what is missing is an empty one.
func objects(list any) ([]object, error) {
	if list == nil {
		return nil, nil
	}
	values, ok := list.([]any)
	if !ok {
		return nil, fmt.Errorf("flipt sent %T where a list belongs", list)
	}
	all := make([]object, 0, len(values))
	for _, value := range values {
		one, ok := value.(object)
		if !ok {
			return nil, fmt.Errorf("flipt sent %T in a list of objects", value)
		}
		all = append(all, one)
	}
	return all, nil
}

// digest is the same for equal JSON, however it was written.
func digest(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(fmt.Sprintf("flipt: JSON that was read cannot be written: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
