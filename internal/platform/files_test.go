package platform

import (
	"testing"

	"cairn/channel"
)

func TestAFileIsTextByItsNameWhateverItsMediaType(t *testing.T) {
	for _, c := range []struct {
		kind, name string
		want       bool
	}{
		{"video/mp2t", "door.ts", true},
		{"application/x-python-code", "a.py", true},
		{"application/rls-services+xml", "main.rs", true},
		{"text/plain; charset=utf-8", "notes", true},
		{"video/mp4", "film.mp4", false},
		{"application/zip", "notes.zip", false},
		{"image/png", "log.md", false},
	} {
		if got := isText(channel.Attachment{Type: c.kind, Name: c.name}); got != c.want {
			t.Errorf("%s, %s: text %v", c.name, c.kind, got)
		}
	}
}
