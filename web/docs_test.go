package web

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
)

func TestTheDocumentationHasEveryRouteVerbCodeAndRole(t *testing.T) {
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	h := newHouse(t)
	routes, ok := h.server.(chi.Routes)
	if !ok {
		t.Fatal("the handler does not tell its routes")
	}
	err = chi.Walk(routes, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if want := "`" + method + " " + strings.TrimPrefix(route, "/api/v1"); !strings.Contains(doc, want) {
			t.Errorf("docs/api.md lacks %s", want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range constants(t, ".", "Code") {
		if !strings.Contains(doc, "`"+code+"`") {
			t.Errorf("docs/api.md lacks the code %s", code)
		}
	}
	for _, verb := range verbs() {
		if !strings.Contains(doc, "`"+string(verb)+"`") {
			t.Errorf("docs/api.md lacks the verb %s", verb)
		}
	}
	for _, role := range roles() {
		if !strings.Contains(doc, "`"+string(role)+"`") {
			t.Errorf("docs/api.md lacks the role %s", role)
		}
	}
}
