package rollout

import "slices"

// ClaimKind is what a rollout can lock.
type ClaimKind string

// What a rollout can lock.
const (
	ClaimDatabase ClaimKind = "database" // from start until it has ended
	ClaimFlag     ClaimKind = "flag"     // from start on, for ever
	ClaimSeal     ClaimKind = "seal"     // its own name, from completion until its flags say so
)

// Claim is something that one rollout has and no other may.
type Claim struct {
	Kind ClaimKind `json:"kind"`
	Name string    `json:"name"`
}

// Claims returns what the rollout holds now: its database while it may have a
// share or get one, its own name until its completion is sealed, and its flag keys from its first start on.
func (s *State) Claims() []Claim {
	var claims []Claim
	if s.Plan == nil {
		return nil
	}
	switch {
	case s.Phase.Active():
		claims = append(claims, Claim{ClaimDatabase, s.Plan.Database.Name})
	case s.Watched():
		claims = append(claims, Claim{ClaimSeal, s.Name})
	}
	if s.Attempt > 0 {
		for _, lane := range s.Plan.Lanes {
			claim := Claim{ClaimFlag, lane.Flag.String()}
			if !slices.Contains(claims, claim) {
				claims = append(claims, claim)
			}
		}
	}
	return claims
}
