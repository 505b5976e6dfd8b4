package cloudwatchtest_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"
	"github.com/aws/smithy-go/transport/http/protocol/rpcv2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/gates/cloudwatch/cloudwatchtest"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// borrow is a metric of a proxy.
var borrow = gates.Metric{
	Namespace: "AWS/RDS", Name: "DatabaseConnectionsBorrowLatency",
	Dimensions: map[string]string{"ProxyName": "orders", "EndpointName": "default"}, Period: time.Minute,
}

// serve starts a server whose time stands at a quarter past noon.
func serve(t *testing.T) *cloudwatchtest.Server {
	s := cloudwatchtest.New(cloudwatchtest.Options{Now: func() time.Time { return noon.Add(15 * time.Minute) }})
	t.Cleanup(s.Close)
	return s
}

// eachProtocol runs a test with the SDK speaking each protocol.
func eachProtocol(t *testing.T, test func(*testing.T, *cloudwatchtest.Server, *cloudwatch.Client)) {
	protocols := map[string]smithyhttp.ClientProtocol{
		"rpcv2Cbor":  rpcv2.NewCBOR(schemas.GraniteServiceVersion20100801),
		"awsJson1_0": awsjson.New10(schemas.GraniteServiceVersion20100801),
		"awsQuery":   awsquery.New(schemas.GraniteServiceVersion20100801),
	}
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			test(t, s, client(s.URL, func(o *cloudwatch.Options) { o.Protocol = protocol }))
		})
	}
}

// client is the SDK's client. It retries nothing, so that each answer is seen.
func client(url string, options ...func(*cloudwatch.Options)) *cloudwatch.Client {
	return cloudwatch.New(cloudwatch.Options{
		Region:       "eu-west-1",
		BaseEndpoint: &url,
		Credentials:  credentials.NewStaticCredentialsProvider("key", "secret", ""),
		Retryer:      aws.NopRetryer{},
	}, options...)
}

// query asks for a statistic of a metric.
func query(id, stat string, m gates.Metric) types.MetricDataQuery {
	asked := types.Metric{Namespace: &m.Namespace, MetricName: &m.Name}
	for name, value := range m.Dimensions {
		asked.Dimensions = append(asked.Dimensions, types.Dimension{Name: &name, Value: &value})
	}
	return types.MetricDataQuery{Id: &id, MetricStat: &types.MetricStat{
		Metric: &asked, Period: aws.Int32(int32(m.Period / time.Second)), Stat: &stat,
	}}
}

// hour asks for an hour from noon on, oldest first.
func hour(queries ...types.MetricDataQuery) *cloudwatch.GetMetricDataInput {
	return &cloudwatch.GetMetricDataInput{
		StartTime: aws.Time(noon), EndTime: aws.Time(noon.Add(time.Hour)),
		ScanBy: types.ScanByTimestampAscending, MetricDataQueries: queries,
	}
}

// told writes a result as "id status 12:00=1 12:01=2".
func told(results []types.MetricDataResult) []string {
	var lines []string
	for _, r := range results {
		line := *r.Id + " " + string(r.StatusCode)
		for i, at := range r.Timestamps {
			if i < len(r.Values) {
				line += fmt.Sprintf(" %s=%v", at.UTC().Format("15:04"), r.Values[i])
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func points(values ...float64) []gates.Point {
	var points []gates.Point
	for i, v := range values {
		points = append(points, gates.Point{Start: noon.Add(time.Duration(i) * time.Minute), Value: v})
	}
	return points
}

func TestTheSDKReadsWhatASeriesWasGiven(t *testing.T) {
	eachProtocol(t, func(t *testing.T, s *cloudwatchtest.Server, c *cloudwatch.Client) {
		s.Set(borrow, points(1, 2.5, math.NaN())...)
		other := borrow
		other.Dimensions = map[string]string{"ProxyName": "orders"} // a part of the dimensions is another series
		out, err := c.GetMetricData(t.Context(), hour(query("a", "Maximum", borrow), query("b", "Maximum", other)))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"a Complete 12:00=1 12:01=2.5 12:02=NaN", "b Complete"}
		if diff := cmp.Diff(want, told(out.MetricDataResults)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if out.NextToken != nil || *out.MetricDataResults[0].Label != borrow.Name {
			t.Errorf("token %v, label %q", out.NextToken, *out.MetricDataResults[0].Label)
		}
	})
}

func TestTheSDKReadsBackWhatItPublished(t *testing.T) {
	eachProtocol(t, func(t *testing.T, s *cloudwatchtest.Server, c *cloudwatch.Client) {
		datum := func(at time.Duration, d types.MetricDatum) types.MetricDatum {
			d.MetricName, d.Timestamp = aws.String("latency"), aws.Time(noon.Add(at))
			d.Dimensions = []types.Dimension{{Name: aws.String("B"), Value: aws.String("2")}, {Name: aws.String("A"), Value: aws.String("1")}}
			return d
		}
		_, err := c.PutMetricData(t.Context(), &cloudwatch.PutMetricDataInput{
			Namespace: aws.String("App"),
			MetricData: []types.MetricDatum{
				datum(time.Second, types.MetricDatum{Value: aws.Float64(4), Unit: types.StandardUnitMilliseconds}),
				datum(30*time.Second, types.MetricDatum{Values: []float64{1, 2}, Counts: []float64{3, 1}, Unit: types.StandardUnitMilliseconds}),
				datum(time.Minute, types.MetricDatum{Value: aws.Float64(10)}),
				datum(2*time.Minute, types.MetricDatum{StatisticValues: &types.StatisticSet{
					SampleCount: aws.Float64(4), Sum: aws.Float64(20), Minimum: aws.Float64(2), Maximum: aws.Float64(9),
				}}),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		m := gates.Metric{Namespace: "App", Name: "latency", Dimensions: map[string]string{"A": "1", "B": "2"}, Period: time.Minute}
		inMilliseconds := query("unit", "Sum", m)
		inMilliseconds.MetricStat.Unit = types.StandardUnitMilliseconds
		out, err := c.GetMetricData(t.Context(), hour(
			query("sum", "Sum", m), query("avg", "Average", m), query("min", "Minimum", m), query("max", "Maximum", m),
			query("n", "SampleCount", m), query("p75", "p75", m), query("p99", "p99.9", m), inMilliseconds,
		))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"sum Complete 12:00=9 12:01=10 12:02=20",
			"avg Complete 12:00=1.8 12:01=10 12:02=5",
			"min Complete 12:00=1 12:01=10 12:02=2",
			"max Complete 12:00=4 12:01=10 12:02=9",
			"n Complete 12:00=5 12:01=1 12:02=4",
			"p75 Complete 12:00=2 12:01=10", // a statistic set has no percentiles
			"p99 Complete 12:00=4 12:01=10",
			"unit Complete 12:00=9",
		}
		if diff := cmp.Diff(want, told(out.MetricDataResults)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		list, err := c.ListMetrics(t.Context(), &cloudwatch.ListMetricsInput{Namespace: aws.String("App")})
		if err != nil {
			t.Fatal(err)
		}
		metrics := []types.Metric{{Namespace: aws.String("App"), MetricName: aws.String("latency"), Dimensions: []types.Dimension{
			{Name: aws.String("A"), Value: aws.String("1")}, {Name: aws.String("B"), Value: aws.String("2")},
		}}}
		if diff := cmp.Diff(metrics, list.Metrics, cmpopts.IgnoreUnexported(types.Metric{}, types.Dimension{})); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

func TestTheSDKTurnsPages(t *testing.T) {
	eachProtocol(t, func(t *testing.T, s *cloudwatchtest.Server, c *cloudwatch.Client) {
		other := borrow
		other.Name = "other"
		s.Set(borrow, points(1, 2, 3)...)
		s.Set(other, points(4, 5)...)
		in := hour(query("a", "Sum", borrow), query("b", "Sum", other))
		in.MaxDatapoints = aws.Int32(2)
		var pages [][]string
		for p := cloudwatch.NewGetMetricDataPaginator(c, in); p.HasMorePages(); {
			page, err := p.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, told(page.MetricDataResults))
		}
		want := [][]string{
			{"a PartialData 12:00=1 12:01=2", "b PartialData"},
			{"a Complete 12:02=3", "b PartialData 12:00=4"},
			{"a Complete", "b Complete 12:01=5"},
		}
		if diff := cmp.Diff(want, pages); diff != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
		in.ScanBy, in.MaxDatapoints = "", nil
		out, err := c.GetMetricData(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if got := told(out.MetricDataResults)[0]; got != "a Complete 12:02=3 12:01=2 12:00=1" {
			t.Errorf("unless it is said otherwise, the newest come first: %s", got)
		}
	})
}

func TestTheSDKKnowsRefusalsByTheirCode(t *testing.T) {
	tests := []struct {
		name string
		call func(*testing.T, *cloudwatchtest.Server, *cloudwatch.Client) error
		code string
	}{
		{"throttling", get(cloudwatchtest.Throttling, nil), "Throttling"},
		{"access denied", get(cloudwatchtest.AccessDenied, nil), "AccessDenied"},
		{"an expired token", get(cloudwatchtest.ExpiredToken, nil), "ExpiredToken"},
		{"an internal fault", get(cloudwatchtest.InternalFault, nil), "InternalServiceError"},
		{"a period of seven seconds", get("", func(in *cloudwatch.GetMetricDataInput) { in.MetricDataQueries[0].MetricStat.Period = aws.Int32(7) }), "ValidationError"},
		{"a period of ninety seconds", get("", func(in *cloudwatch.GetMetricDataInput) { in.MetricDataQueries[0].MetricStat.Period = aws.Int32(90) }), "ValidationError"},
		{"an unknown statistic", get("", func(in *cloudwatch.GetMetricDataInput) { in.MetricDataQueries[0].MetricStat.Stat = aws.String("p101") }), "ValidationError"},
		{"an id in capitals", get("", func(in *cloudwatch.GetMetricDataInput) { in.MetricDataQueries[0].Id = aws.String("M1") }), "ValidationError"},
		{"two queries of one id", get("", func(in *cloudwatch.GetMetricDataInput) {
			in.MetricDataQueries = append(in.MetricDataQueries, in.MetricDataQueries[0])
		}), "ValidationError"},
		{"more than 500 queries", get("", func(in *cloudwatch.GetMetricDataInput) {
			in.MetricDataQueries = slices.Repeat(in.MetricDataQueries, 501)
		}), "ValidationError"},
		{"an end that is the start", get("", func(in *cloudwatch.GetMetricDataInput) { in.EndTime = in.StartTime }), "ValidationError"},
		{"math", get("", func(in *cloudwatch.GetMetricDataInput) {
			in.MetricDataQueries[0].Expression, in.MetricDataQueries[0].MetricStat = aws.String("FILL(m1, 0)"), nil
		}), "ValidationError"},
		{"a token that was never given", get("", func(in *cloudwatch.GetMetricDataInput) { in.NextToken = aws.String("x") }), "InvalidNextToken"},
		{"a datum of three weeks ago", put(types.MetricDatum{Value: aws.Float64(1), Timestamp: aws.Time(noon.AddDate(0, 0, -21))}), "InvalidParameterValue"},
		{"a datum without a value", put(types.MetricDatum{}), "MissingParameter"},
		{"counts without values", put(types.MetricDatum{Values: []float64{1, 2}, Counts: []float64{1}}), "InvalidParameterValue"},
	}
	eachProtocol(t, func(t *testing.T, s *cloudwatchtest.Server, c *cloudwatch.Client) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				err := tt.call(t, s, c)
				var api smithy.APIError
				if !errors.As(err, &api) || !sameCode(api.ErrorCode(), tt.code) {
					t.Errorf("error %v, want the code %s", err, tt.code)
				}
			})
		}
	})
}

// sameCode compares codes; a shape that the model knows has a longer one in
// protocols that do not name the older.
func sameCode(got, want string) bool {
	return got == want || got == want+"Exception" || got == map[string]string{
		"ValidationError": "ValidationException", "MissingParameter": "MissingRequiredParameterException",
		"InternalServiceError": "InternalServiceFault",
	}[want]
}

// get asks for data, with a fault in force.
func get(f cloudwatchtest.Fault, change func(*cloudwatch.GetMetricDataInput)) func(*testing.T, *cloudwatchtest.Server, *cloudwatch.Client) error {
	return func(t *testing.T, s *cloudwatchtest.Server, c *cloudwatch.Client) error {
		in := hour(query("a", "Sum", borrow))
		if change != nil {
			change(in)
		}
		if f != "" {
			s.Fault(f, 1)
		}
		_, err := c.GetMetricData(t.Context(), in)
		return err
	}
}

// put publishes a datum.
func put(d types.MetricDatum) func(*testing.T, *cloudwatchtest.Server, *cloudwatch.Client) error {
	return func(t *testing.T, _ *cloudwatchtest.Server, c *cloudwatch.Client) error {
		d.MetricName = aws.String("m")
		_, err := c.PutMetricData(t.Context(), &cloudwatch.PutMetricDataInput{Namespace: aws.String("App"), MetricData: []types.MetricDatum{d}})
		return err
	}
}

func TestACompressedRequestIsUnderstood(t *testing.T) {
	var calls []cloudwatchtest.Call
	s := cloudwatchtest.New(cloudwatchtest.Options{OnCall: func(c cloudwatchtest.Call) { calls = append(calls, c) }})
	defer s.Close()
	// A client made without a loaded configuration compresses every request.
	_, err := client(s.URL).PutMetricData(t.Context(), &cloudwatch.PutMetricDataInput{
		Namespace: aws.String("App"), MetricData: []types.MetricDatum{{MetricName: aws.String("m"), Value: aws.Float64(1)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []cloudwatchtest.Call{{Operation: "PutMetricData", Protocol: "rpcv2Cbor", Region: "eu-west-1", Gzip: true}}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
