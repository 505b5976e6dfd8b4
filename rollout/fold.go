package rollout

// Fold returns the state that events make of nothing.
func Fold(events []Event) State {
	var s State
	for i := range events {
		s = Apply(s, &events[i])
	}
	return s
}

// Apply returns the state after an event.
func Apply(s State, e *Event) State { return s }
