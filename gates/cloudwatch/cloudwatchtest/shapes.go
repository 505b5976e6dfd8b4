package cloudwatchtest

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// The shapes of requests and answers, for all three protocols. What is read is
// matched by name, in any case; what is written is named by tags.

type getMetricDataInput struct {
	MetricDataQueries  []metricDataQuery
	StartTime, EndTime stamp
	NextToken          string
	ScanBy             string
	MaxDatapoints      *int
}

type metricDataQuery struct {
	ID         string
	AccountID  string
	MetricStat *metricStat
	Expression string
	Label      string
	ReturnData *bool
}

type metricStat struct {
	Metric struct {
		Namespace, MetricName string
		Dimensions            []dimension
	}
	Period int
	Stat   string
	Unit   string
}

type getMetricDataOutput struct {
	Messages          list[message]
	MetricDataResults list[metricDataResult]
	NextToken         string `json:",omitempty" xml:",omitempty"`
}

type metricDataResult struct {
	ID         string `json:"Id" xml:"Id"`
	Label      string
	Messages   list[message] `json:",omitempty" xml:",omitempty"`
	StatusCode string
	Timestamps list[stamp]
	Values     list[number]
}

type message struct{ Code, Value string }

type putMetricDataInput struct {
	Namespace        string
	MetricData       []metricDatum
	EntityMetricData []struct{ MetricData []metricDatum }
}

type metricDatum struct {
	MetricName      string
	Dimensions      []dimension
	Timestamp       *stamp
	Value           *number
	Values, Counts  []number
	StatisticValues *struct{ SampleCount, Sum, Minimum, Maximum number }
	Unit            string
}

type listMetricsInput struct {
	Namespace, MetricName string
	Dimensions            []dimension
}

type listMetricsOutput struct{ Metrics list[metric] }

type metric struct {
	Namespace, MetricName string
	Dimensions            list[dimension]
}

type dimension struct{ Name, Value string }

// list is a list, which XML wraps in an element even if it is empty.
type list[T any] []T

// MarshalXML writes each item as a member.
func (l list[T]) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	items := struct {
		Member []T `xml:"member"`
	}{l}
	return e.EncodeElement(items, start)
}

// MarshalJSON writes a list without items as [], never as null.
func (l list[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// stamp is a time: tagged seconds in CBOR, seconds in JSON, ISO 8601 in Query.
type stamp time.Time

// MarshalCBOR writes tag 1 and a float, as the SDKs do.
func (s stamp) MarshalCBOR() ([]byte, error) {
	return cbor.Marshal(cbor.Tag{Number: 1, Content: s.seconds()})
}

// UnmarshalCBOR reads a tagged number.
func (s *stamp) UnmarshalCBOR(data []byte) error {
	var t time.Time
	if err := cbor.Unmarshal(data, &t); err != nil {
		return err
	}
	*s = stamp(t.Round(time.Millisecond).UTC())
	return nil
}

// MarshalJSON writes seconds.
func (s stamp) MarshalJSON() ([]byte, error) { return json.Marshal(s.seconds()) }

// UnmarshalJSON reads seconds.
func (s *stamp) UnmarshalJSON(data []byte) error {
	var seconds float64
	if err := json.Unmarshal(data, &seconds); err != nil {
		return err
	}
	*s = stamp(time.UnixMilli(int64(math.Round(seconds * 1000))).UTC())
	return nil
}

// MarshalText writes ISO 8601.
func (s stamp) MarshalText() ([]byte, error) { return time.Time(s).UTC().MarshalText() }

// UnmarshalText reads ISO 8601.
func (s *stamp) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.RFC3339, string(text))
	*s = stamp(t.UTC())
	return err
}

func (s stamp) seconds() float64 { return float64(time.Time(s).UnixMilli()) / 1000 }

// number is a float, of which JSON writes as text what it has no number for.
type number float64

// MarshalJSON writes a number, or "NaN", "Infinity", "-Infinity".
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return strconv.AppendQuote(nil, n.text()), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads either.
func (n *number) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return n.UnmarshalText([]byte(text))
	}
	return json.Unmarshal(data, (*float64)(n))
}

// MarshalText writes a number as Query does.
func (n number) MarshalText() ([]byte, error) { return []byte(n.text()), nil }

// UnmarshalText reads a number as Query writes it.
func (n *number) UnmarshalText(text []byte) error {
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("%q is no number", text)
	}
	*n = number(value)
	return nil
}

func (n number) text() string {
	switch value := float64(n); {
	case math.IsInf(value, 1):
		return "Infinity"
	case math.IsInf(value, -1):
		return "-Infinity"
	default:
		return strconv.FormatFloat(value, 'g', -1, 64)
	}
}
