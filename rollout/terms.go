package rollout

// Sense says what a change of a plan does to what the plan guards.
type Sense string

// The senses of a change. What cannot be shown to tighten, or to be neutral, loosens.
const (
	Neutral  Sense = "neutral"
	Tightens Sense = "tightens"
	Loosens  Sense = "loosens"
	Fixed    Sense = "fixed" // no amendment changes it: that is a rollout of its own
)

// stricter says which way a field becomes stricter.
type stricter int

const (
	never  stricter = iota // neither way can be shown to be stricter
	more                   // more of it, or a later one of its values
	less                   // less of it
	either                 // it guards nothing
	fixed                  // it stays as it is
)

// term is a field of a plan, and what it means to change it.
type term struct {
	field    string // as in the plan file, without the names of what is listed
	stricter stricter
	tightens string // why a stricter value is stricter
	loosens  string
}

// terms are all fields of a plan. They are the rules of amendments: DESIGN,
// invariant 14. A test holds docs/plan.md to them.
func terms() []term {
	return []term{
		{field: "rollout", stricter: fixed},
		{field: "owner", stricter: either},
		{field: "reason", stricter: either},
		{field: "kind", stricter: fixed},
		{field: "database.name", stricter: fixed},
		{field: "database.engine", stricter: fixed},
		{field: "database.max_connections", stricter: fixed},
		{field: "database.region", stricter: fixed},
		{field: "database.account", stricter: fixed},
		{field: "source.host", stricter: fixed},
		{field: "source.port", stricter: fixed},
		{field: "source.kind", stricter: fixed},
		{field: "source.settings", loosens: "any change: what the endpoint is expected to be"},
		{field: "target.host", stricter: fixed},
		{field: "target.port", stricter: fixed},
		{field: "target.kind", stricter: fixed},
		{field: "target.settings", loosens: "any change: what the endpoint is expected to be"},

		{field: "services", loosens: "added or removed: other tasks are counted"},
		{field: "services[].tasks", stricter: more, tightens: "more: more must report", loosens: "fewer: fewer must report"},
		{field: "services[].pool_max", loosens: "any change: what is known of its tasks"},
		{field: "services[].socket_timeout", loosens: "any change: what is known of its tasks"},
		{field: "services[].pool_lifetime", loosens: "any change: what is known of its tasks"},

		{field: "lanes", stricter: fixed},
		{field: "lanes[].class", stricter: fixed},
		{field: "lanes[].services", stricter: fixed},
		{field: "lanes[].flag.key", stricter: fixed},
		{field: "lanes[].flag.namespace", stricter: fixed},
		{field: "lanes[].stages", stricter: more, tightens: "added: a smaller step", loosens: "removed: a bigger step"},
		{field: "lanes[].stages[].bake", stricter: more, tightens: "longer: more data before the next step", loosens: "shorter: less data before the next step"},
		{field: "lanes[].stages[].min_tasks", stricter: more, tightens: "more tasks must be exposed", loosens: "fewer tasks must be exposed"},
		{field: "lanes[].stages[].contains", stricter: more, tightens: "one more: the bake must contain more", loosens: "one less: the bake need not contain what it had to"},
		{field: "lanes[].stages[].approvals", stricter: more, tightens: "more people must approve", loosens: "fewer people must approve"},
		{field: "lanes[].stages[].go", stricter: more, tightens: "manual: an operator must give the go", loosens: "auto: nobody must give the go"},

		{field: "windows", stricter: more, tightens: "wider, or on fewer days: what has to contain it contains more", loosens: "any other: what has to contain it may contain less"},
		{field: "soak.for", stricter: more, tightens: "longer: more data before the old path may go", loosens: "shorter: less data before the old path may go"},
		{field: "soak.contains", stricter: more, tightens: "one more: the soak must contain more", loosens: "one less: the soak need not contain what it had to"},

		{field: "gates", stricter: more, tightens: "added: more is watched", loosens: "removed: it is watched no longer"},
		{field: "gates[].source", loosens: "any change: something else is measured"},
		{field: "gates[].metric.account", loosens: "any change: something else is measured"},
		{field: "gates[].metric.region", loosens: "any change: something else is measured"},
		{field: "gates[].metric.namespace", loosens: "any change: something else is measured"},
		{field: "gates[].metric.name", loosens: "any change: something else is measured"},
		{field: "gates[].metric.dimensions", loosens: "any change: something else is measured"},
		{field: "gates[].metric.stat", loosens: "any change: something else is measured"},
		{field: "gates[].metric.period", loosens: "any change: a longer bucket is seen later, a shorter one is bad more seldom"},
		{field: "gates[].metric.unit", loosens: "any change: something else is measured"},
		{field: "gates[].metric.per", loosens: "any change: something else is measured"},
		{field: "gates[].metric.lane", loosens: "any change: something else is measured"},
		{field: "gates[].metric.target", loosens: "any change: something else is measured"},
		{field: "gates[].limit.above", stricter: less, tightens: "lower, or set: less is too much", loosens: "higher, or gone: more is let go"},
		{field: "gates[].limit.below", stricter: more, tightens: "higher, or set: more is too little", loosens: "lower, or gone: less is let go"},
		{field: "gates[].limit.for", stricter: more, tightens: "fewer of as many, or as few of more: sooner a breach", loosens: "any other: a breach takes other bad buckets, or more"},
		{field: "gates[].absent", stricter: more, tightens: "from zero over not_started to unknown: a missing point allows less", loosens: "the other way, or a zero that is beyond the limit: a missing point may allow more"},
		{field: "gates[].on_breach", stricter: more, tightens: "from hold over previous to zero: a breach does more", loosens: "the other way: a breach does less"},
		{field: "gates[].scope", stricter: more, tightens: "database: a breach concerns more", loosens: "lane: a breach concerns less"},
		{field: "gates[].lanes", stricter: more, tightens: "one more, or all: a breach concerns more", loosens: "one less, or others: a breach concerns less"},
		{field: "gates[].delay", loosens: "any change: a point is trusted later, or before it is whole"},

		{field: "guard.every", stricter: less, tightens: "shorter: a breach is seen sooner", loosens: "longer: a breach is seen later"},
		{field: "on_raise", loosens: "any change: another hand's raise goes back without a person, or stays until one looks"},
		{field: "converge.within", stricter: less, tightens: "shorter: tasks must follow sooner", loosens: "longer: tasks may follow later"},
		{field: "converge.min_reporting", stricter: more, tightens: "more: more tasks must report", loosens: "less: fewer tasks must report"},
		{field: "converge.interval", loosens: "any change: tasks count as live for longer, or are left out sooner"},
		{field: "patience", stricter: less, tightens: "shorter: a lack of data holds sooner", loosens: "longer: data may lack for longer"},
		{field: "grace", stricter: less, tightens: "shorter: shares fall sooner", loosens: "longer: shares fall later"},
		{field: "recovery", stricter: less, tightens: "shorter: a rollback that is not proven is stuck sooner", loosens: "longer: a rollback that is not proven is stuck later"},
	}
}

// change says how a value has changed in the direction of its term.
type change int

const (
	unlike change = iota // neither more nor less: something else
	grown
	shrunk
	alike // written differently, and means the same
)

// sense says what a change does, and why.
func (t *term) sense(c change) (Sense, string) {
	switch {
	case t.stricter == fixed:
		return Fixed, "an amendment never changes it"
	case t.stricter == either, c == alike:
		return Neutral, "what is guarded stays the same"
	case t.stricter == more && c == grown, t.stricter == less && c == shrunk:
		return Tightens, t.tightens
	default:
		return Loosens, t.loosens
	}
}
