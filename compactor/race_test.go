package compactor_test

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"cairn/internal/check"
)

// TestMain gives a property as many random cases as a file has histories, and half of them under
// the race detector, which makes each ten times as slow; .ci/run runs more without it.
func TestMain(m *testing.M) {
	cases := perFile
	if check.UnderRace() {
		cases /= 2
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(cases)); err != nil {
		panic(err)
	}
	check.InMemory()
	os.Exit(m.Run())
}
