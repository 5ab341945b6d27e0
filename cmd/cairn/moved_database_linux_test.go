package main

import (
	"os"
	"path/filepath"
	"testing"

	"cairn/internal/check"
)

// TestMovedDatabase: no message is accepted that would be lost, and the bot continues when the file
// is back.
func TestMovedDatabase(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	l := p.start("chat", "--json")
	if ok, words := l.saidTo("1", "a"); !ok {
		t.Fatal(words)
	}
	l.until(`"reply"`)
	file := filepath.Join(p.dir, "data", "cairn.db")
	check.NoError(t, os.Rename(file, file+".away"))
	for _, channel := range []string{"a", "b"} {
		ok, words := l.saidTo("2"+channel, channel)
		if want := "My database was deleted or moved, so your message was not accepted. Ask the bot's operator to put it back, and send it again."; ok || words != want {
			t.Errorf("%s: accepted %v, %q", channel, ok, words)
		}
	}
	check.NoError(t, os.Rename(file+".away", file))
	if ok, words := l.saidTo("3", "a"); !ok {
		t.Error(words)
	}
	l.end()
	check.Equal(t, "messages", p.heard("a"), "message 1|message 3")
}
