package rollout_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain makes 2,000 random histories the least; -rapid.checks asks for more.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set("2000"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
