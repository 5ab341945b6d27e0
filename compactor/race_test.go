package compactor_test

import (
	"runtime/debug"
	"testing"
)

// skipUnderRace skips a test that starts many processes: the race detector makes each of
// them start slowly, and sees nothing in them. .ci/run runs these tests without it.
func skipUnderRace(t *testing.T) {
	t.Helper()
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	for _, s := range info.Settings {
		if s.Key == "-race" && s.Value == "true" {
			t.Skip("it starts many processes; run it without the race detector")
		}
	}
}
