package compactor_test

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// TestMain makes fewer random cases under the race detector, which makes each of them ten
// times as slow; .ci/run makes more without it.
func TestMain(m *testing.M) {
	if underRace() {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func underRace() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}

// skipUnderRace skips a test that starts many processes or computes much in one goroutine:
// the race detector makes it slow and finds nothing in it. .ci/run runs it without.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if underRace() {
		t.Skip("the race detector only makes it slow; run it without")
	}
}
