package scenario

import (
	"errors"
	"math"
	"slices"

	"github.com/seed-c8cbbb61/cutover/gates"
)

// window is M of N; where a rule does not say, the first bad point breaks it.
type window struct {
	M *int `json:"m"`
	N *int `json:"n"`
}

// limit is a limit that is broken so often.
func (w window) limit(above, below *float64) gates.Limit {
	l := gates.Limit{Above: above, Below: below, M: 1}
	if w.M != nil {
		l.M = *w.M
	}
	l.N = l.M
	if w.N != nil {
		l.N = *w.N
	}
	return l
}

// maxRule is broken by values above its limit.
type maxRule struct {
	head
	window
	Limit *float64 `json:"limit"`
}

func (r *maxRule) put(e entry) (gates.Limit, []*float64, error) {
	values, err := e.values(r.Metric)
	return r.limit(r.Limit, nil), values, err
}

// minRule is broken by values below its limit.
type minRule struct {
	head
	window
	Limit *float64 `json:"limit"`
}

func (r *minRule) put(e entry) (gates.Limit, []*float64, error) {
	values, err := e.values(r.Metric)
	return r.limit(nil, r.Limit), values, err
}

// bandRule is broken by values outside of low … high times a base, or of
// low … high themselves where no base is named.
type bandRule struct {
	head
	window
	Base string   `json:"base"`
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
}

// put holds how far outside the band each value is against zero: the limit of
// a gate stands still, but a base moves. Where the base is missing, so is the
// value's place.
func (r *bandRule) put(e entry) (gates.Limit, []*float64, error) {
	limit := r.limit(new(float64), nil)
	switch {
	case r.Low == nil && r.High == nil:
		return limit, nil, errors.New("it needs low, high or both")
	case r.Low != nil && r.High != nil && *r.Low > *r.High:
		return limit, nil, errors.New("low is above high")
	}
	values, err := e.values(r.Metric)
	if err != nil {
		return limit, nil, err
	}
	base := slices.Repeat([]*float64{new(1.0)}, len(values))
	if r.Base != "" {
		if base, err = e.values(r.Base); err != nil {
			return limit, nil, err
		}
	}
	outside := make([]*float64, len(values))
	for i, value := range values {
		if value != nil && i < len(base) && base[i] != nil {
			outside[i] = new(r.outside(*value, *base[i]))
		}
	}
	return limit, outside, nil
}

// outside says how far outside the band a value is; inside, it is at most zero.
// The products are rounded before they are compared, on every processor alike.
func (r *bandRule) outside(value, base float64) float64 {
	by := math.Inf(-1)
	if r.High != nil {
		by = max(by, value-float64(*r.High*base))
	}
	if r.Low != nil {
		by = max(by, float64(*r.Low*base)-value)
	}
	return by
}

// freshRule is broken by more than max_gap missing points in a row.
type freshRule struct {
	head
	MaxGap *int `json:"max_gap"`
}

// put says of each point whether it is missing; of max_gap + 1 in a row, not
// all may be.
func (r *freshRule) put(e entry) (gates.Limit, []*float64, error) {
	if r.MaxGap == nil || *r.MaxGap < 0 {
		return gates.Limit{}, nil, errors.New("it needs a max_gap of 0 or more")
	}
	values, err := e.values(r.Metric)
	missing := make([]*float64, len(values))
	for i, value := range values {
		missing[i] = new(float64)
		if value == nil {
			*missing[i] = 1
		}
	}
	return gates.Limit{Above: new(float64), M: *r.MaxGap + 1, N: *r.MaxGap + 1}, missing, err
}
