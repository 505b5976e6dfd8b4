package main

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

//go:embed completion
var completions embed.FS

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (*completionCmd) offline() {}

// Help says how it is used.
func (*completionCmd) Help() string {
	return "Put `source <(rolloutctl completion bash)` into ~/.bashrc, the same with zsh into ~/.zshrc, or `rolloutctl completion fish | source` into ~/.config/fish/config.fish."
}

// Run prints a shell's script, which asks completeCmd for each word.
func (c *completionCmd) Run(s *session) error {
	script, err := completions.ReadFile("completion/" + c.Shell)
	if err != nil {
		return fmt.Errorf("reading the script: %w", err)
	}
	_, err = s.out.Write(script)
	return err
}

// completeCmd says what a word of a command line could be: the words before it,
// and its beginning, which may be empty. A line has a candidate and, after a tab,
// what it is. It never fails, and says nothing on stderr.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

func (*completeCmd) offline() {}

// Run says it.
func (c *completeCmd) Run(ctx context.Context, s *session) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	last := len(words) - 1
	var found []candidate
	for _, offer := range offers(ctx, s, newParser(&cli{}, s.streams).Model.Node, words[:last], words[last]) {
		if strings.HasPrefix(offer.text, words[last]) {
			found = append(found, offer)
		}
	}
	for _, f := range found {
		fmt.Fprintln(s.out, strings.TrimSuffix(s.screen.clean(f.text)+"\t"+s.screen.clean(f.what), "\t"))
	}
	return nil
}

// candidate is what a word could be.
type candidate struct {
	text, what string
}

// offers are all that a word could be after others.
func offers(ctx context.Context, s *session, root *kong.Node, before []string, word string) []candidate {
	at := walk(root, before)
	switch {
	case at.awaits != nil:
		return ofFlag(ctx, s, at)
	case strings.HasPrefix(word, "-"):
		return flagsOf(at.node)
	case len(at.node.Children) > 0:
		return childrenOf(at.node)
	case len(at.args) < len(at.node.Positional):
		return ofArgument(ctx, s, at)
	default:
		return nil
	}
}

// place is where in a command line a word stands.
type place struct {
	node   *kong.Node
	args   []string   // of the command, before it
	awaits *kong.Flag // whose value it is; nil if it is none
}

// walk follows the words of a command line, as far as they make sense.
func walk(root *kong.Node, words []string) place {
	at := place{node: root}
	for _, word := range words {
		switch child := childOf(at.node, word); {
		case at.awaits != nil:
			at.awaits = nil
		case strings.HasPrefix(word, "-"):
			if flag := flagOf(at.node, word); flag != nil && !flag.IsBool() && !strings.Contains(word, "=") {
				at.awaits = flag
			}
		case child != nil:
			at.node = child
		default:
			at.args = append(at.args, word)
		}
	}
	return at
}

func childOf(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

func flagOf(node *kong.Node, word string) *kong.Flag {
	for _, flags := range node.AllFlags(true) {
		for _, flag := range flags {
			if word == "--"+flag.Name || len(word) == 2 && word[1:] == string(flag.Short) || slices.Contains(flag.Aliases, strings.TrimPrefix(word, "--")) {
				return flag
			}
		}
	}
	return nil
}

func flagsOf(node *kong.Node) []candidate {
	var list []candidate
	for _, flags := range node.AllFlags(true) {
		for _, flag := range flags {
			list = append(list, candidate{"--" + flag.Name, flag.Help})
		}
	}
	return list
}

func childrenOf(node *kong.Node) []candidate {
	var list []candidate
	for _, child := range node.Children {
		if !child.Hidden {
			list = append(list, candidate{child.Name, child.Help})
		}
	}
	return list
}

// ofFlag is what the value of a flag could be.
func ofFlag(ctx context.Context, s *session, at place) []candidate {
	switch at.awaits.Name {
	case "to":
		return stages(ctx, s, at, "")
	case "for":
		return stages(ctx, s, at, "stage=")
	case "profile":
		return ofProfiles()
	case "state":
		return plain(strings.Split(phaseNames(), ", "))
	case "confirm":
		return plain(at.args)
	default:
		return plain(at.awaits.EnumSlice())
	}
}

// ofArgument is what an argument could be. What it names, its help says.
func ofArgument(ctx context.Context, s *session, at place) []candidate {
	arg := at.node.Positional[len(at.args)]
	switch {
	case strings.HasPrefix(arg.Help, "Name of the rollout"):
		return names(ctx, s)
	case strings.HasPrefix(arg.Help, "Name of the profile"):
		return ofProfiles()
	default:
		return plain(arg.EnumSlice())
	}
}

func names(ctx context.Context, s *session) []candidate {
	if !s.reach() {
		return nil
	}
	states, err := s.api.Rollouts(ctx)
	if err != nil {
		return nil
	}
	var list []candidate
	for i := range states {
		list = append(list, candidate{states[i].Name, words(states[i].Phase) + ", " + intended(&states[i])})
	}
	return list
}

func ofProfiles() []candidate {
	saved, err := readProfiles()
	if err != nil {
		return nil
	}
	return plain(slices.Sorted(maps.Keys(saved.Profiles)))
}

// stages is the next stage of the rollout that is named, and no other: none can
// be skipped. Of a rollback it is 0% of each lane.
func stages(ctx context.Context, s *session, at place, prefix string) []candidate {
	if len(at.args) == 0 || !s.reach() {
		return nil
	}
	status, err := s.api.Status(ctx, at.args[0])
	if err != nil {
		return nil
	}
	if at.node.Name == string(rollout.Rollback) {
		var list []candidate
		for _, lane := range status.State.Lanes {
			list = append(list, candidate{lane.Name + ":0", "now " + lane.Intended.String()})
		}
		return list
	}
	next, ok := status.State.Next()
	if !ok {
		return nil
	}
	return []candidate{{fmt.Sprintf("%s%s:%d", prefix, status.State.Lanes[next.Lane].Name, int(next.Stage.Share)), "the next stage"}}
}

// reach prepares to ask the server, for a second at most: a person waits for a key.
func (s *session) reach() bool {
	limit := time.Second
	s.Timeout = &limit
	return s.connect() == nil
}

func plain(texts []string) []candidate {
	var list []candidate
	for _, text := range texts {
		list = append(list, candidate{text: text})
	}
	return list
}
