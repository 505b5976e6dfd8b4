package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/flags/flipt"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// flagFound is a flag that somebody made by hand, and what a lane makes of it.
type flagFound struct {
	Lane  string      `json:"lane"`
	From  flags.Key   `json:"from"`
	Flag  flags.Key   `json:"flag"`  // what the lane uses: the flag itself, or a new one
	Share flags.Share `json:"share"` // of the lane's flag, now
	Notes []string    `json:"notes"`
	First []string    `json:"first,omitempty"` // what to do before the plan can start, where the flag is a new one
	Last  []string    `json:"last,omitempty"`  // and what at the end
}

// flagWanted is a flag to be taken over, and what was said of it.
type flagWanted struct {
	lane     string
	key      flags.Key
	as       *flagKey // the new flag, where the flag itself cannot be a lane's
	asOption string
	inverted bool   // its true means the source
	target   string // which variant means the target
	source   rollout.Endpoint
	goal     rollout.Endpoint
}

// foreignFlag refuses a flag, with the reason and what to do.
func foreignFlag(key flags.Key, why, next string) error {
	return failure{exitRefused, fmt.Sprintf("flag %s cannot be taken over: %s", key, why), []string{"next: " + next}}
}

// takeFlag finds out what a lane can make of a flag.
func takeFlag(ctx context.Context, store *flipt.Store, w flagWanted) (flagFound, error) {
	d, err := store.Describe(ctx, w.key)
	if err != nil {
		return flagFound{}, err
	}
	const plain = "make it a boolean flag, not enabled, with one threshold that gives true; or a new flag beside it"
	switch {
	case d.Setting.Stamp.Rollout != "":
		return flagFound{}, foreignFlag(w.key, "it is a flag of rollout "+d.Setting.Stamp.Rollout+" already, and stays so", "rolloutctl status "+quoted(d.Setting.Stamp.Rollout))
	case len(d.Segments) > 0:
		return flagFound{}, foreignFlag(w.key, "it asks for "+segmentsText(d.Segments)+
			": only some tasks can get the target, and a lane is a share of all", plain)
	case d.Boolean && !d.Plain:
		return flagFound{}, foreignFlag(w.key, fmt.Sprintf("it has %d rollouts, and a lane's flag has one threshold", d.Rules), plain)
	case d.Boolean:
		return takeBoolean(ctx, store, w, &d)
	default:
		return takeVariants(ctx, store, w, &d)
	}
}

func segmentsText(names []string) string {
	if len(names) == 1 {
		return "segment " + names[0]
	}
	return "segments " + strings.Join(names, ", ")
}

func takeBoolean(ctx context.Context, store *flipt.Store, w flagWanted, d *flipt.Description) (flagFound, error) {
	switch {
	case w.inverted:
		return takeInverted(ctx, store, w, d)
	case d.From > 0:
		why := fmt.Sprintf("it is inverted, enabled with a threshold that gives false: the target's tasks are those in the buckets from %d up", d.From)
		return aroundFlag(ctx, store, w, why, movedText(d.From, d.To), flags.Share(d.To-d.From), "set the threshold of "+w.key.String()+" to 100 %")
	case d.Foreign != nil:
		return flagFound{}, foreignFlag(w.key, strings.TrimPrefix(d.Foreign.Error(), flags.ErrForeign.Error()+": "),
			fmt.Sprintf("set its threshold to %d %%, giving true", d.Setting.Share))
	}
	found := flagFound{Lane: w.lane, From: w.key, Flag: w.key, Share: d.Setting.Share}
	found.Notes = []string{fmt.Sprintf("lane %s uses flag %s itself, which is at %v", w.lane, w.key, found.Share)}
	if w.as != nil {
		found.Notes = append(found.Notes, "no new flag is needed: "+w.asOption+" is not used")
	}
	if d.Enabled {
		found.Notes = append(found.Notes, "it is enabled, so all tasks get true; our first write makes that a threshold of 100 % and not enabled, which serves the same")
	}
	return found, nil
}

// takeInverted makes something of a flag whose true means the source.
func takeInverted(ctx context.Context, store *flipt.Store, w flagWanted, d *flipt.Description) (flagFound, error) {
	const turned = "its true means the source, and ours means the target"
	share := flags.All - flags.Share(d.To-d.From)
	switch {
	case d.From > 0: // the target's are those below
		return aroundFlag(ctx, store, w, turned, "", share, "set the threshold of "+w.key.String()+" to 0 %")
	case d.To == 0 || d.To == int(flags.All):
		return aroundFlag(ctx, store, w, turned, "", share, "make "+w.key.String()+" true for all")
	}
	why := turned + fmt.Sprintf(": the target's tasks are those in the buckets from %d up", d.To)
	return aroundFlag(ctx, store, w, why, movedText(d.To, int(flags.All)), share, "set the threshold of "+w.key.String()+" to 100 %")
}

// movedText says how many tasks would change if our buckets replaced these: ours
// are the first ones, as many.
func movedText(low, high int) string {
	size := high - low
	moved := min(size, low) // of ours that are none of these, and the other way round
	return fmt.Sprintf("ours would be those below %d, so taking it over in place would move %d %% of the tasks: %d %% to the target and %d %% back",
		size, 2*moved, moved, moved)
}

func takeVariants(ctx context.Context, store *flipt.Store, w flagWanted, d *flipt.Description) (flagFound, error) {
	var names []string
	for _, v := range d.Variants {
		names = append(names, v.Key)
	}
	switch {
	case !d.Enabled:
		return flagFound{}, foreignFlag(w.key, "it has variants and is not enabled, so it gives none", "enable it, or make a new boolean flag")
	case len(d.Variants) != 2:
		return flagFound{}, foreignFlag(w.key, fmt.Sprintf("it has %s (%s), and a lane knows two answers",
			count(len(names), "variant", "variants"), strings.Join(names, ", ")), "make a new boolean flag")
	case d.Rules != 1:
		return flagFound{}, foreignFlag(w.key, fmt.Sprintf("it has %s, and one is needed to know which part of the tasks gets what",
			count(d.Rules, "rule", "rules")), "make a new boolean flag")
	case !d.Plain:
		return flagFound{}, foreignFlag(w.key, "its parts do not sum to 100 %", "give both variants their part")
	}
	target, err := w.targetVariant(names)
	if err != nil {
		return flagFound{}, err
	}
	part := d.Variants[target].Percent / 100
	why := fmt.Sprintf("it has two variants, of which %s (%g %%) is the target, and Flipt hashes variants in another way than booleans",
		names[target], d.Variants[target].Percent)
	moved := ""
	if percent := math.Round(200 * part * (1 - part)); percent > 0 {
		moved = fmt.Sprintf("a boolean flag in its place would move about %.0f %% of the tasks", percent)
	}
	return aroundFlag(ctx, store, w, why, moved, flags.Share(math.Ceil(part*100)), fmt.Sprintf("let %s give %s to 100 %%", w.key, names[1-target]))
}

// targetVariant returns which of two variants means the target.
func (w *flagWanted) targetVariant(names []string) (int, error) {
	if w.target != "" {
		if at := slices.Index(names, w.target); at >= 0 {
			return at, nil
		}
		return 0, usageError{text: fmt.Sprintf("--target-variant %q: flag %s has %s", w.target, w.key, strings.Join(names, " and "))}
	}
	goals := []string{"target", "new", "proxy", "green", w.goal.Kind, w.goal.Host}
	sources := []string{"source", "old", "direct", "blue", w.source.Kind, w.source.Host}
	for at, name := range names {
		other := names[1-at]
		sure := slices.Contains(goals, name) && slices.Contains(sources, other)
		if sure && !slices.Contains(sources, name) && !slices.Contains(goals, other) {
			return at, nil
		}
	}
	return 0, foreignFlag(w.key, fmt.Sprintf("which of its variants %s means the target, their names do not tell", strings.Join(names, " and ")),
		fmt.Sprintf("say it: --target-variant %s or --target-variant %s", quoted(names[0]), quoted(names[1])))
}

// aroundFlag makes a lane of a new flag beside one that cannot be a lane's. Why
// says what is different, moved what taking it over in place would do, share how
// many tasks have the target by it, and back what takes these back.
func aroundFlag(
	ctx context.Context, store *flipt.Store, w flagWanted, why, moved string, share flags.Share, back string,
) (flagFound, error) {
	if moved != "" {
		why += "; " + moved
	}
	if w.as == nil {
		return flagFound{}, foreignFlag(w.key, why, "a new boolean flag beside it: "+w.asOption+" "+w.key.Namespace+"/ANOTHER-KEY")
	}
	found := flagFound{Lane: w.lane, From: w.key, Flag: flags.Key(*w.as)}
	d, err := store.Describe(ctx, found.Flag)
	switch {
	case errors.Is(err, flags.ErrNotFound):
		found.First = append(found.First, fmt.Sprintf("create flag %s: boolean, not enabled, one threshold that gives true at 0 %%", found.Flag))
	case err != nil:
		return flagFound{}, err
	case !d.Boolean || d.Foreign != nil || d.Setting.Share > flags.None || d.Setting.Stamp.Rollout != "":
		return flagFound{}, foreignFlag(found.Flag, "it is there already, and no plain boolean flag at 0 % that is nobody's", "name another one by "+w.asOption)
	}
	found.Notes = []string{
		fmt.Sprintf("flag %s cannot be lane %s's own: %s", w.key, w.lane, why),
		fmt.Sprintf("lane %s uses the new flag %s instead, from 0 %%", w.lane, found.Flag),
	}
	found.First = append(found.First, fmt.Sprintf("let the application use the target if %s or %s says so, and deploy it", w.key, found.Flag))
	if share > flags.None {
		found.Notes = append(found.Notes,
			fmt.Sprintf("the %v that have the target by %s stay there: no rollback takes them back, and they are in the baselines", share, w.key))
		found.First = append(found.First,
			fmt.Sprintf("if these %v may go back: %s, so that the lane alone decides; else do it on the bad day, too", share, back))
	}
	found.Last = append(found.Last, fmt.Sprintf("when lane %s has baked at 100 %%, take %s out of the application", w.lane, w.key))
	return found, nil
}
