package web

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-c8cbbb61/cutover/rollout"
)

// What takes two people. The rules themselves are the core's, which knows names
// and no tokens; what needs to know who there is, is here.
//
//	release-all              one asks, another agrees; alone says that there is no other
//	an approval where two    each person counts once (rollout.Obey)
//	an amendment that        somebody else than who proposed it approves it (rollout.Obey);
//	loosens                  nobody is ever alone enough for that
//	a hand-over              mayTake says whom it may be offered to; only that person
//	                         accepts (rollout.Obey)
//
// People are the names of good tokens that are not tasks'.

// could returns who, beside one person, may do something on a database, by name.
func could(people []Caller, beside string, what action, database string) []string {
	var names []string
	for _, p := range people {
		if ok, _ := may(p, what, database); ok && p.Name != beside {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// alone reports whether nobody else could do something on a database: then one
// person is enough where two are asked for.
func (s *server) alone(who Caller, what action, database string) bool {
	return len(could(s.Tokens.people(), who.Name, what, database)) == 0
}

// offered refuses a hand-over to somebody who could not take it, and has the
// refusal recorded as those of the desk are.
func (s *server) offered(ctx context.Context, name string, cmd rollout.Command) error {
	database, err := s.databaseOf(ctx, name)
	if err != nil || cmd.Person == "" { // the desk says what is missing
		return err
	}
	if err := mayTake(s.Tokens.people(), cmd.Person, cmd.By, database); err != nil {
		s.Refusals.add(ctx, name, cmd, err.Error(), time.Now())
		return err
	}
	return nil
}

// mayTake refuses to offer a rollout to somebody who could not go on with it.
func mayTake(people []Caller, person, by, database string) error {
	const need = action(rollout.Accept)
	others := could(people, by, need, database)
	who := "nobody else has that; an admin can make a token"
	if len(others) > 0 {
		who = joined(others, "and") + " could take it"
	}
	at := slices.IndexFunc(people, func(p Caller) bool { return p.Name == person })
	if at < 0 {
		return rollout.Refusal(fmt.Sprintf("person %s: nobody of that name has a good token; to move a rollout needs the role %s on its database: %s",
			person, either(needed(need)), who))
	}
	if ok, why := may(people[at], need, database); !ok {
		return rollout.Refusal(fmt.Sprintf("person %s: %s: %s", person, why, who))
	}
	return nil
}
