package cloudwatchtest_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seed-c8cbbb61/cutover/gates/cloudwatch/cloudwatchtest"
)

func FuzzAnyRequestIsAnswered(f *testing.F) {
	f.Add(0, "GetMetricData", []byte("\xa1ix\x00"))
	f.Add(1, "GetMetricData", []byte(`{"StartTime": 1, "EndTime": 2, "MetricDataQueries": [{"Id": "a", "MetricStat": {"Period": 60, "Stat": "p99", "Metric": {}}}]}`))
	f.Add(1, "PutMetricData", []byte(`{"Namespace": "N", "MetricData": [{"MetricName": "m", "Value": "NaN"}]}`))
	f.Add(2, "", []byte("Action=GetMetricData&StartTime=2026-11-30T12:00:00Z&EndTime=2026-11-30T13:00:00Z&MetricDataQueries.member.1.Id=a&MetricDataQueries.member.1.MetricStat.Period=60"))
	f.Add(2, "", []byte("Action=ListMetrics&Dimensions.member.1.Name=x&Dimensions.member.99999999999999999999.Name=y"))
	s := cloudwatchtest.New(cloudwatchtest.Options{})
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, protocol int, operation string, body []byte) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
		switch protocol {
		case 0:
			r.URL.Path = "/service/GraniteServiceVersion20100801/operation/" + operation
			r.Header.Set("Smithy-Protocol", "rpc-v2-cbor")
		case 1:
			r.Header.Set("X-Amz-Target", "GraniteServiceVersion20100801."+operation)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}
