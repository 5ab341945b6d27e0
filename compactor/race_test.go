package compactor_test

import (
	"flag"
	"os"
	"testing"

	"cairn/internal/check"
)

// TestMain makes fewer random cases under the race detector, which makes each of them ten
// times as slow; .ci/run makes more without it.
func TestMain(m *testing.M) {
	if check.UnderRace() {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	check.InMemory()
	os.Exit(m.Run())
}
