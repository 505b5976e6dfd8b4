package cloudwatchtest_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-c8cbbb61/cutover/gates/cloudwatch/cloudwatchtest"
)

// python is Debian's, which has botocore: a client by AWS that speaks awsQuery.
const python = "/usr/bin/python3"

// peer runs a script of a foreign client and returns what it prints.
func peer(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python, args...)
	cmd.Env = append(cmd.Environ(), "AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "PYTHONWARNINGS=ignore", "NO_PROXY=*")
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		t.Fatalf("running %s %v: %v (if boto3 is missing: apt-get install python3-boto3)\n%s", python, args, err, errors.String())
	}
	return out.String()
}

func TestBotocoreIsServed(t *testing.T) {
	var protocols []string
	s := cloudwatchtest.New(cloudwatchtest.Options{
		Now:    func() time.Time { return noon.Add(15 * time.Minute) },
		OnCall: func(c cloudwatchtest.Call) { protocols = append(protocols, c.Protocol) },
	})
	defer s.Close()
	var got any
	if err := json.Unmarshal([]byte(peer(t, "testdata/peer.py", s.URL, "2026-11-30T12:00:00+00:00")), &got); err != nil {
		t.Fatal(err)
	}
	type row = []any
	times := func(clock ...any) row { return append(row{}, clock...) }
	want := map[string]any{
		"results": row{
			row{"sum", "latency", "Complete", times("12:00", "12:01", "12:02"), row{9.0, 10.5, 20.0}},
			row{"n", "latency", "Complete", times("12:00", "12:01", "12:02"), row{5.0, 1.0, 4.0}},
			row{"p50", "latency", "Complete", times("12:00", "12:01"), row{1.0, 10.5}},
			row{"none", "unknown", "Complete", times(), row{}},
		},
		"pages": row{
			row{row{"a", "latency", "PartialData", times("12:00", "12:01"), row{4.0, 10.5}}},
			row{row{"a", "latency", "Complete", times("12:02"), row{9.0}}},
		},
		"listed":  row{row{"App", "latency", row{"Azimuth & <tag>", "Cluster"}}},
		"refused": row{"ValidationError", 400.0},
		"token":   row{"InvalidNextToken", 400.0},
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("botocore reads (-want +got):\n%s", diff)
	}
	for _, protocol := range protocols {
		if protocol != "awsQuery" {
			t.Errorf("botocore spoke %s", protocol)
		}
	}
}
