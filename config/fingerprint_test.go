package config

import (
	"testing"

	"cairn/testkit/check"
)

func TestFingerprint(t *testing.T) {
	of := func(text string) string {
		t.Helper()
		file := writeSettings(t, text)
		s := check.Must(Load(file))(t)
		return Fingerprint(&s)
	}
	same := of("")
	check.Equal(t, "of another machine", of("health = \"127.0.0.1:9\"\n[web]\nlisten = \"127.0.0.1:8\"\n"), same)
	check.That(t, of("catch_up = \"2h\"\n") != same, "a setting of the bot changes nothing")
	check.That(t, of("[defaults.compaction]\nbackground_threshold = 0.7\n") != same, "a setting in a table changes nothing")
	check.Len(t, "characters", []byte(same), 12)
}
