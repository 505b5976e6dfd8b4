// Package web serves the JSON API under /api/v1.
//
//	rolloutctl, scripts ──┐           ┌─▶ Desk     takes plans and commands
//	                      ├─▶ may ────┼─▶ Journal  reads events
//	tasks ────────────────┘           └─▶ Fleet    takes reports
//
// It knows HTTP, and nobody else does: who asks is found out by [Tokens], what
// he may do is said by one policy function, and what an error means in HTTP is
// said by one table. It decides nothing about rollouts, keeps nothing, and must
// not know how commands are obeyed, how events are kept or which flags there are.
package web
