package compactor_test

import (
	"flag"
	"os"
	"testing"

	"cairn/internal/check"
)

// TestMain runs fewer random cases under the race detector, which makes each ten times as slow;
// .ci/run runs more without it.
func TestMain(m *testing.M) {
	if check.UnderRace() {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	check.InMemory()
	os.Exit(m.Run())
}
