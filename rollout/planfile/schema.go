package planfile

import (
	_ "embed" // for the schema's file
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of plan files.
func Schema() []byte { return slices.Clone(schema) }
