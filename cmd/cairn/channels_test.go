package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/store"
)

func TestChannels(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	t.Run("an empty folder has none", func(t *testing.T) {
		p.must("", "import", p.write("none.jsonl", ""))
		r := p.run("", "channels")
		check.Equal(t, "output and errors", r.out+r.err, "no conversations yet\n")
	})
	p.must("", "import", "--channel", "garden", p.write("past.jsonl", `{"id":"1","author":"Ada","time":"2026-05-01T10:00:00Z","text":"The plums are ripe"}
{"id":"2","author":"Bob","time":"2026-05-03T10:00:00Z","text":"I will pick them"}
`))
	t.Run("the only conversation is the default", func(t *testing.T) {
		for _, line := range []string{"recall plums", "transcript"} {
			check.Contains(t, fmt.Sprintf("cairn %s", line), p.must("", strings.Fields(line)...), "The plums are ripe")
		}
		check.Contains(t, "cairn context", p.must("", "context"), "2 in total")
	})
	p.must("", "import", "--channel", "kitchen", p.write("more.jsonl", `{"id":"1","author":"Ada","time":"2026-06-01T10:00:00Z","text":"Jam"}`+"\n"))
	t.Run("the newest comes first, with numbers", func(t *testing.T) {
		out := p.must("", "channels")
		kitchen, garden := strings.Index(out, "terminal:kitchen"), strings.Index(out, "terminal:garden")
		if kitchen < 0 || garden < kitchen || !strings.Contains(out, "  2  2026-05-03 ") || !strings.Contains(out, "  1  2026-06-01 ") {
			t.Errorf("got\n%s", out)
		}
	})
	t.Run("for a program", func(t *testing.T) {
		all := parse[struct {
			Channel  string
			Messages int
			Last     string
		}](t, p.must("", "channels", "--json"))
		if len(all) < 2 || all[0].Channel != "terminal:kitchen" || all[0].Messages != 1 || all[1].Messages != 2 || all[1].Last != "2026-05-03T10:00:00Z" {
			t.Errorf("got %+v", all)
		}
	})
	t.Run("by the names people know", func(t *testing.T) {
		db := check.Must(store.Open(t.Context(), store.Options{Dir: filepath.Join(p.dir, "data")}))(t)
		c, err := db.Conversation(t.Context(), "discord:9/20")
		if err == nil {
			_, err = c.Inbox().Deliver(t.Context(), store.Inbound{ID: "1", AuthorID: "1", Author: "Ada", Text: "hello", Label: "#plaza · \x1b[31mCozy Corner"})
		}
		check.NoError(t, errors.Join(err, db.Close()))
		check.Contains(t, "output of channels", p.must("", "channels"), "discord:9/20", "  #plaza · [31mCozy Corner\n")
		check.Contains(t, "output", p.must("", "channels", "--json"), `"channel":"discord:9/20","name":"#plaza · `)
	})
	t.Run("of several one must be named", func(t *testing.T) {
		r := p.run("", "recall", "plums")
		if r.code == 0 || !strings.Contains(r.err, "name one with --channel: known: terminal:kitchen") || !strings.Contains(r.err, "garden") {
			t.Errorf("exit code %d: %s", r.code, r.err)
		}
		check.Contains(t, "output", p.must("", "recall", "--channel", "garden", "plums"), "The plums are ripe")
	})
}
