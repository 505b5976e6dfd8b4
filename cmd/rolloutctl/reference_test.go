package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

//go:embed testdata/rolloutctl.md
var frame string

// TestTheReferenceIsUpToDate holds docs/rolloutctl.md to the grammar of the
// command line; -update writes it anew.
func TestTheReferenceIsUpToDate(t *testing.T) {
	const path = "../../docs/rolloutctl.md"
	model := newParser(&cli{}, streams{}).Model
	funcs := template.FuncMap{
		"commands": func() (string, error) { return commandsText(model.Node) },
		"flags":    func() string { return flagsText(model.Node) },
		"exits":    exitsText,
		"page": func(name string) (string, error) {
			text, err := os.ReadFile("testdata/page/" + name + ".txt")
			whole, _, _ := strings.Cut(string(text), "-- brief --\n")
			return strings.TrimSuffix(whole, "\n"), err
		},
	}
	parsed, err := template.New("").Funcs(funcs).Parse(frame)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := parsed.Execute(&got, nil); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("docs/rolloutctl.md is not up to date; write it anew with -update:\n%s", diff)
	}
}

// commandsText tells every command, by group.
func commandsText(root *kong.Node) (string, error) {
	leaves := root.Leaves(true)
	var b strings.Builder
	for _, group := range groups() {
		fmt.Fprintf(&b, "\n### %s\n", group)
		for _, node := range leaves {
			if in := node.ClosestGroup(); in == nil || !slices.Contains(groups(), in.Title) {
				return "", fmt.Errorf("the command %s is in no group", node.Path())
			} else if in.Title != group {
				continue
			}
			fmt.Fprintf(&b, "\n`%s`: %s\n", usageOf(node), node.Help)
			if asks := asksOf(node); asks != "" {
				fmt.Fprintf(&b, "Asks for confirmation: %s.\n", asks)
			}
			if node.Detail != "" {
				fmt.Fprintf(&b, "%s\n", node.Detail)
			}
			for i, flag := range node.Flags {
				if i == 0 {
					b.WriteString("\n")
				}
				fmt.Fprintf(&b, "- %s: %s\n", flagName(flag), flag.Help)
			}
		}
	}
	return strings.TrimSpace(b.String()), nil
}

func asksOf(node *kong.Node) string {
	if node.Tag == nil {
		return ""
	}
	return node.Tag.Get("asks")
}

// usageOf is a command with its arguments.
func usageOf(node *kong.Node) string {
	words := []string{strings.TrimPrefix(node.FullPath(), "rolloutctl ")}
	for _, arg := range node.Positional {
		word := strings.ToUpper(arg.Name)
		if arg.IsSlice() {
			word += "…"
		}
		if !arg.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func flagName(flag *kong.Flag) string {
	name := "`--" + flag.Name
	if !flag.IsBool() {
		name += " " + flag.FormatPlaceHolder()
	}
	name += "`"
	for _, alias := range flag.Aliases {
		name += ", `--" + alias + "`"
	}
	if flag.Short != 0 {
		name = "`-" + string(flag.Short) + "`, " + name
	}
	return name
}

// flagsText tells the flags that every command has.
func flagsText(root *kong.Node) string {
	var b strings.Builder
	b.WriteString("| flag | environment | |\n|---|---|---|\n")
	for _, flag := range root.Flags {
		var env []string
		for _, name := range flag.Envs {
			env = append(env, "`"+name+"`")
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", flagName(flag), strings.Join(env, ", "), flag.Help)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func exitsText() string {
	var b strings.Builder
	b.WriteString("| code | means |\n|---|---|\n")
	for _, e := range exits() {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, e.means)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
