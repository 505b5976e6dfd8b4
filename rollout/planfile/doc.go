// Package planfile reads plans from YAML and writes them.
//
// [Parse] is strict, because a plan moves a database: an unknown field, a
// duplicate, a missing or wrong unit is refused, and everything that is wrong is
// told at once, each with its line, field, value and what is allowed. It fills in
// the defaults, so that a parsed plan is complete. [Format] writes every field,
// and its text parses back to the same plan. [Schema] is the JSON Schema by which
// editors complete and check the file; the parser knows more, the schema never
// contradicts it.
//
// Parsing has three steps:
//
//	load      bytes to one YAML document, of bounded size
//	survey    where each field stands; no anchors, tags, duplicates, empty values
//	read      fields to a plan, then [rollout.Plan.Validate], traced to its lines
//
// What makes sense in a plan is said in package rollout; this package knows only
// how it is written down. It reads no files and asks nothing of the world.
package planfile
