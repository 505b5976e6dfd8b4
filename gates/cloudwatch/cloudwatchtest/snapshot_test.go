package cloudwatchtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
)

// The SDK ships what its own authors froze of the wire: a first line, headers,
// an empty line, and the body as it is.

// frozenWire is the folder of the SDK's snapshots.
type frozenWire string

func findFrozenWire(t *testing.T) frozenWire {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-sdk-go-v2/service/cloudwatch").Output()
	if err != nil {
		t.Fatalf("finding the SDK: %v", err)
	}
	return frozenWire(strings.TrimSpace(string(dir)))
}

// read reads a snapshot.
func (f frozenWire) read(t *testing.T, name string) (first string, body []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(string(f), name))
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	_, after, ok := strings.Cut(rest, "\n\n")
	if !ok {
		t.Fatalf("%s has no body", name)
	}
	return first, []byte(after)
}

// requested reads the snapshot of a request into a shape.
func (f frozenWire) requested(t *testing.T, operation string, in any) {
	t.Helper()
	first, body := f.read(t, "request_snapshot/"+operation+".request.snap")
	if first != "POST /service/GraniteServiceVersion20100801/operation/"+operation {
		t.Fatalf("request is %q", first)
	}
	if err := (rpcv2Cbor{}).decode(body, in); err != nil {
		t.Fatalf("reading the SDK's %s: %v", operation, err)
	}
}

// Values in the snapshots are __Name__, 1 and this time.
var frozen = stamp(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))

func equalTimes(a, b stamp) bool { return time.Time(a).Equal(time.Time(b)) }

func TestTheRequestsThatTheSDKFrozeAreUnderstood(t *testing.T) {
	wire := findFrozenWire(t)
	var get getMetricDataInput
	wire.requested(t, "GetMetricData", &get)
	pair := []dimension{{"__Name__", "__Value__"}, {"__Name__", "__Value__"}}
	yes, one := true, 1
	query := metricDataQuery{
		ID: "__Id__", AccountID: "__AccountId__", Expression: "__Expression__", Label: "__Label__", ReturnData: &yes,
		MetricStat: &metricStat{Period: 1, Stat: "__Stat__", Unit: "Seconds"},
	}
	query.MetricStat.Metric.Namespace, query.MetricStat.Metric.MetricName = "__Namespace__", "__MetricName__"
	query.MetricStat.Metric.Dimensions = pair
	wantGet := getMetricDataInput{
		MetricDataQueries: []metricDataQuery{query, query}, StartTime: frozen, EndTime: frozen,
		NextToken: "__NextToken__", ScanBy: "TimestampDescending", MaxDatapoints: &one,
	}
	if diff := cmp.Diff(wantGet, get, cmp.AllowUnexported(metricStat{}), cmp.Comparer(equalTimes)); diff != "" {
		t.Errorf("GetMetricData (-want +got):\n%s", diff)
	}

	var put putMetricDataInput
	wire.requested(t, "PutMetricData", &put)
	value, ones := number(1), []number{1, 1}
	datum := metricDatum{
		MetricName: "__MetricName__", Dimensions: pair, Timestamp: &frozen, Value: &value, Values: ones, Counts: ones, Unit: "Seconds",
		StatisticValues: &struct{ SampleCount, Sum, Minimum, Maximum number }{1, 1, 1, 1},
	}
	data := struct{ MetricData []metricDatum }{[]metricDatum{datum, datum}}
	wantPut := putMetricDataInput{
		Namespace: "__Namespace__", MetricData: data.MetricData, EntityMetricData: []struct{ MetricData []metricDatum }{data, data},
	}
	if diff := cmp.Diff(wantPut, put, cmp.Comparer(equalTimes)); diff != "" {
		t.Errorf("PutMetricData (-want +got):\n%s", diff)
	}

	var list listMetricsInput
	wire.requested(t, "ListMetrics", &list)
	wantList := listMetricsInput{Namespace: "__Namespace__", MetricName: "__MetricName__", Dimensions: pair}
	if diff := cmp.Diff(wantList, list); diff != "" {
		t.Errorf("ListMetrics (-want +got):\n%s", diff)
	}
}

// tree reads CBOR as it is, tags and all.
func tree(t *testing.T, body []byte) any {
	t.Helper()
	mode, err := cbor.DecOptions{TimeTagToAny: cbor.TimeTagToRFC3339Nano}.DecMode()
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := mode.NewDecoder(bytes.NewReader(body)).Decode(&tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestOurAnswersAreWrittenAsThoseThatTheSDKFroze(t *testing.T) {
	wire := findFrozenWire(t)
	messages := list[message]{{"__Code__", "__Value__"}, {"__Code__", "__Value__"}}
	result := metricDataResult{
		ID: "__Id__", Label: "__Label__", Messages: messages, StatusCode: "Complete",
		Timestamps: list[stamp]{frozen, frozen}, Values: list[number]{1, 1},
	}
	first, body := wire.read(t, "response_snapshot/GetMetricData.response.snap")
	if first != "200" {
		t.Fatalf("status is %q", first)
	}
	ours, err := rpcv2Cbor{}.encode("GetMetricData", &getMetricDataOutput{
		Messages: messages, MetricDataResults: list[metricDataResult]{result, result}, NextToken: "__NextToken__",
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tree(t, body), tree(t, ours)); diff != "" {
		t.Errorf("GetMetricData (-SDK +ours):\n%s", diff)
	}
	for _, no := range []*refusal{
		{400, "ValidationException", "", ""},
		{400, "InvalidParameterValueException", "", ""},
		{400, "MissingRequiredParameterException", "", ""},
		{400, "InvalidNextToken", "", ""},
		{400, "LimitExceededException", "", ""},
		{400, "LimitExceededFault", "", ""},
		{500, "InternalServiceFault", "", ""},
	} {
		status, body := wire.read(t, "response_snapshot/"+no.shape+".error.snap")
		no.message = "__Message__"
		ours, err := rpcv2Cbor{}.refuse(no)
		if err != nil {
			t.Fatal(err)
		}
		got := tree(t, ours).(map[any]any)
		got["__type"] = strings.TrimPrefix(got["__type"].(string), "com.amazonaws.cloudwatch#") // either is allowed
		if diff := cmp.Diff(tree(t, body), any(got)); diff != "" {
			t.Errorf("%s, status %s (-SDK +ours):\n%s", no.shape, status, diff)
		}
	}
}
