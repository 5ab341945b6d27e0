package check

import (
	"runtime/debug"
	"testing"
)

// UnderRace reports whether the test runs under the race detector.
func UnderRace() bool {
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

// SkipUnderRace skips a test that starts many processes, or computes much in one goroutine at a
// time: the race detector makes it up to ten times slower, and finds nothing that it does not find
// in the tests of concurrency. .ci/run finds the calls of this function in the
// source, and runs those tests without the detector.
func SkipUnderRace(t *testing.T) {
	t.Helper()
	if UnderRace() {
		t.Skip("the race detector only makes it slow; run it without")
	}
}
