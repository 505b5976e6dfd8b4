package cloudwatchtest

import (
	"math"
	"net/http"
	"slices"

	"github.com/seed-c8cbbb61/cutover/gates"
)

// Fault is one way in which an answer goes wrong.
type Fault string

// Faults of the answer to a request.
const (
	Throttling     Fault = "throttling"      // 400 ThrottlingException
	TooMany        Fault = "too_many"        // 429 with a page of HTML
	LimitFault     Fault = "limit_fault"     // 400 LimitExceededFault
	AccessDenied   Fault = "access_denied"   // 403 AccessDeniedException
	ExpiredToken   Fault = "expired_token"   // 403 ExpiredTokenException
	InternalFault  Fault = "internal_fault"  // 500 InternalServiceFault
	Unavailable    Fault = "unavailable"     // 503 with a page of HTML
	Hang           Fault = "hang"            // no answer until the client gives up
	Hangup         Fault = "hangup"          // the connection is closed without an answer
	Truncated      Fault = "truncated"       // 200, and the connection ends in the middle of the body
	Cut            Fault = "cut"             // 200 with half of a body that claims to be whole
	Empty          Fault = "empty"           // 200 with nothing
	Foreign        Fault = "foreign"         // 200 with a page of HTML
	Hollow         Fault = "hollow"          // 200 without a result for any query
	RepeatedToken  Fault = "repeated_token"  // each page names the same next one
	Reversed       Fault = "reversed"        // results and points in the wrong order
	GlobalMessages Fault = "global_messages" // a message about the whole request
)

// Faults of a series, in an answer that is 200 all the same.
const (
	PartialData   Fault = "PartialData"   // StatusCode
	Forbidden     Fault = "Forbidden"     // StatusCode, without values
	InternalError Fault = "InternalError" // StatusCode, without values
	Odd           Fault = "Odd"           // a StatusCode that nobody knows
	NaN           Fault = "nan"           // the newest value is NaN
	ShortValues   Fault = "short_values"  // fewer values than timestamps
	Unanswered    Fault = "unanswered"    // no result at all
)

// fault is a fault in force.
type fault struct {
	Fault
	series string // of this one alone, if not empty
	times  int    // how often still; below zero: always
}

// Fault makes the next answers go wrong: so many of them, or all until Heal if
// times is 0. A fault of series concerns all series of an answer.
func (s *Server) Fault(f Fault, times int) {
	if times == 0 {
		times = -1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, fault{Fault: f, times: times})
}

// FaultIn makes one series go wrong until Heal.
func (s *Server) FaultIn(m gates.Metric, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, fault{f, name(m).key(), -1})
}

// Heal ends all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// strike returns the faults that the next answer is to have.
func (s *Server) strike() []fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	struck := slices.Clone(s.faults)
	for i := range s.faults {
		s.faults[i].times--
	}
	s.faults = slices.DeleteFunc(s.faults, func(f fault) bool { return f.times == 0 })
	return struck
}

// refusal is the plain error that a fault is, if it is one.
func (f Fault) refusal() *refusal {
	switch f {
	case Throttling:
		return &refusal{http.StatusBadRequest, "ThrottlingException", "Throttling", "Rate exceeded"}
	case LimitFault:
		return &refusal{http.StatusBadRequest, "LimitExceededFault", "LimitExceeded", "The quota for operations of this customer has already been reached."}
	case AccessDenied:
		return &refusal{http.StatusForbidden, "AccessDeniedException", "AccessDenied", "User: arn:aws:iam::123456789012:user/reader is not authorized to perform: cloudwatch:GetMetricData"}
	case ExpiredToken:
		return &refusal{http.StatusForbidden, "ExpiredTokenException", "ExpiredToken", "The security token included in the request is expired"}
	case InternalFault:
		return &refusal{http.StatusInternalServerError, "InternalServiceFault", "InternalServiceError", "Internal service error"}
	default:
		return nil
	}
}

// spoil puts faults that leave an answer 200 into what it says.
func (out *getMetricDataOutput) spoil(in *getMetricDataInput, struck []fault) {
	asked := make(map[string]string)
	for _, q := range in.MetricDataQueries {
		m := q.MetricStat.Metric
		asked[q.ID] = named{m.Namespace, m.MetricName, sorted(m.Dimensions)}.key()
	}
	for _, f := range struck {
		switch f.Fault {
		case Hollow:
			out.MetricDataResults = nil
		case RepeatedToken:
			out.NextToken = "1"
		case GlobalMessages:
			out.Messages = append(out.Messages, message{"MaxMetricsExceeded", "Maximum number of allowed metrics exceeded"})
		case Reversed:
			slices.Reverse(out.MetricDataResults)
			for _, r := range out.MetricDataResults {
				slices.Reverse(r.Timestamps)
				slices.Reverse(r.Values)
			}
		case Unanswered:
			out.MetricDataResults = slices.DeleteFunc(out.MetricDataResults, func(r metricDataResult) bool { return f.hits(asked[r.ID]) })
		default:
		}
		for i := range out.MetricDataResults {
			if r := &out.MetricDataResults[i]; f.hits(asked[r.ID]) {
				r.spoil(f.Fault)
			}
		}
	}
}

// hits reports whether a fault concerns the series of a key.
func (f fault) hits(key string) bool { return f.series == "" || f.series == key }

// spoil puts a fault into the result of one series.
func (r *metricDataResult) spoil(f Fault) {
	switch f {
	case PartialData, Odd:
		r.StatusCode = string(f)
		r.Messages = append(r.Messages, message{string(f), "Some of it is missing"})
	case Forbidden, InternalError:
		r.StatusCode, r.Timestamps, r.Values = string(f), nil, nil
	case NaN:
		if len(r.Values) > 0 {
			r.Values[len(r.Values)-1] = number(math.NaN())
		}
	case ShortValues:
		if len(r.Values) > 0 {
			r.Values = r.Values[:len(r.Values)-1]
		}
	default:
	}
}
