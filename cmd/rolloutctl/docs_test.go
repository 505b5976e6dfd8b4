package main

import (
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestTheDocumentationHasEveryCommandAndFlag(t *testing.T) {
	text, err := os.ReadFile("../../docs/rolloutctl.md")
	if err != nil {
		t.Fatal(err)
	}
	parser, err := kong.New(&cli{})
	if err != nil {
		t.Fatal(err)
	}
	var look func(node *kong.Node, path string)
	look = func(node *kong.Node, path string) {
		for _, child := range node.Children {
			name := strings.TrimSpace(path + " " + child.Name)
			if len(child.Children) == 0 && !strings.Contains(string(text), "`"+name) {
				t.Errorf("docs/rolloutctl.md lacks the command %s", name)
			}
			look(child, name)
		}
		for _, flag := range node.Flags {
			if flag.Name != "help" && !strings.Contains(string(text), "--"+flag.Name) && !strings.Contains(string(text), "-"+string(flag.Short)+" ") {
				t.Errorf("docs/rolloutctl.md lacks the flag --%s", flag.Name)
			}
			for _, env := range flag.Envs {
				if !strings.Contains(string(text), "`"+env+"`") {
					t.Errorf("docs/rolloutctl.md lacks the variable %s", env)
				}
			}
		}
	}
	look(parser.Model.Node, "")
}
