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

// SkipUnderRace skips a test that starts many processes or computes much in one goroutine: the race
// detector makes it slow and finds nothing in it. .ci/run finds the calls of this function in the
// source, and runs those tests without the detector.
func SkipUnderRace(t *testing.T) {
	t.Helper()
	if UnderRace() {
		t.Skip("the race detector only makes it slow; run it without")
	}
}
