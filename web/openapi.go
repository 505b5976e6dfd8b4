package web

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// openapi describes the API, in OpenAPI 3.1.
//
//go:embed openapi.yaml
var openapi []byte

func (s *server) openapiYAML(context.Context, *call) (answer, error) {
	return answer{text: openapi, kind: yamlKind}, nil
}

func (s *server) openapiJSON(context.Context, *call) (answer, error) {
	text, err := asJSON(openapi)
	return answer{text: text, kind: jsonKind}, err
}

// asJSON writes YAML as JSON.
func asJSON(text []byte) ([]byte, error) {
	var document map[string]any
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("reading the description of the API: %w", err)
	}
	return json.Marshal(document)
}
