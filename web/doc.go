// Package web serves the JSON API under /api/v1, as openapi.yaml describes it.
//
//	                                  ┌─▶ Desk, House, Amender   take plans and commands
//	rolloutctl, scripts ──┐           ├─▶ Inspector              looks closer at one rollout
//	                      ├─▶ may ────┼─▶ Journal, Auditor       read events, and hold them to their chain
//	tasks ────────────────┘           └─▶ Fleet                  takes reports
//
// It knows HTTP, and nobody else does: who asks is found out by [Tokens], what
// he may do is said by one policy function, and what an error means in HTTP is
// said by one table. It decides nothing about rollouts, keeps nothing but what it
// has read of the journal last, for lists and streams, and must not know how
// commands are obeyed, how events are kept or which flags there are.
package web
