package main

import (
	"slices"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/internal/check"
)

// recallFound is what `cairn recall --json` prints.
type recallFound struct {
	Score   float64
	Parts   []struct{ Name string }
	Message *chat.Record
	Memory  *struct{ Kind, Content string }
}

const hotelTalk = `{"id":"1","author":"Ada","time":"2026-05-01T10:00:00Z","text":"We chose the hotel by the harbour"}
{"id":"2","author":"Bob","time":"2026-05-03T10:00:00Z","text":"The hotel wants the money by Friday"}
{"id":"3","author":"Bob","time":"2026-05-04T10:00:00Z","text":"Rain again"}
{"id":"4","author":"Bob","time":"2026-05-04T11:00:00Z","text":"And wind"}
{"id":"5","author":"Ada","time":"2026-05-09T10:00:00Z","text":"I am out of coffee"}
`

func TestRecall(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.must("", "import", p.write("past.jsonl", hotelTalk))
	t.Run("for people", func(t *testing.T) {
		out := p.must("", "recall", "which", "hotel", "by", "the", "harbour?")
		check.HasPrefix(t, "out", out, "Said:\n#1  2026-05-01 10:00  Ada: We chose the hotel by the harbour\n#2 ")
		check.Lacks(t, "out", out, "score")
	})
	t.Run("a word is looked for", func(t *testing.T) {
		out := p.must("", "recall", "hotel")
		check.Equal(t, "results", strings.Count(out, "\n#"), 2)
		check.Contains(t, "out", out, "\n#1 ", "\n#2 ")
	})
	t.Run("for a program", func(t *testing.T) {
		all := parse[recallFound](t, p.must("", "recall", "--json", "--limit", "1", "hotel harbour"))
		if len(all) != 1 || all[0].Message == nil || all[0].Message.Seq != 1 || all[0].Score <= 0 || len(all[0].Parts) == 0 {
			t.Errorf("got %+v", all)
		}
	})
	t.Run("since a day", func(t *testing.T) {
		all := parse[recallFound](t, p.must("", "recall", "--json", "--since", "2026-05-02", "hotel harbour"))
		if len(all) == 0 || all[0].Message.Seq != 2 || slices.ContainsFunc(all, func(f recallFound) bool { return f.Message.Seq == 1 }) {
			t.Errorf("got %+v", all)
		}
	})
	t.Run("a caption and what a file holds are shown where they match", func(t *testing.T) {
		p := newFolder(t)
		p.must("", "import", p.write("past.jsonl", `{"id":"1","author":"Ada","time":"2026-05-01T10:00:00Z","text":"","attachments":[{"kind":"image","name":"a.png","caption":"a lighthouse at dusk"}]}
{"id":"2","author":"Bob","time":"2026-05-09T10:00:00Z","text":"see there","attachments":[{"kind":"file","name":"b.txt","text":"`+strings.Repeat("It rained. ", 100)+`The harbour is shut. `+strings.Repeat("It rained. ", 100)+`"}]}
`))
		check.Contains(t, "output", p.must("", "recall", "lighthouse"), "Ada: [image: a.png, a lighthouse at dusk]\n")
		if out := p.must("", "recall", "harbour"); !strings.Contains(out, "Bob: see there\n       [file: b.txt]\n       … ") || !strings.Contains(out, "The harbour is shut.") || len(out) > 900 {
			t.Errorf("got %s", out)
		}
		check.Contains(t, "output as JSON", p.must("", "recall", "lighthouse", "--json"), `"text":"","attachments":[{"kind":"image","name":"a.png","caption":"a lighthouse at dusk"}]},"match":"[image: a.png, a lighthouse at dusk]"}`)
	})
}

func TestRecallExplainsAndRefuses(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.must("", "import", p.write("past.jsonl", hotelTalk))
	t.Run("explained", func(t *testing.T) {
		check.Contains(t, "explained output", p.must("", "recall", "--explain", "hotel"), "score ", ": words +")
	})
	t.Run("memories come first", func(t *testing.T) {
		p.must("/remember the hotel has no lift\n", "chat")
		out := p.must("", "recall", "hotel", "--channel", "general")
		check.HasPrefix(t, "out", out, "Remembered:\n(1) fact: the hotel has no lift (")
		check.Contains(t, "out", out, "\n\nSaid:\n")
		all := parse[recallFound](t, p.must("", "recall", "hotel", "--kind", "fact", "--json"))
		check.That(t, len(all) == 1 && all[0].Memory != nil && all[0].Memory.Content == "the hotel has no lift", "got %+v", all)
	})
	t.Run("nothing", func(t *testing.T) {
		if r := p.run("", "recall", "xylophone"); r.code != 0 || r.out != "" || r.err != "nothing found\n" {
			t.Errorf("exit code %d, output %q, errors %q", r.code, r.out, r.err)
		}
	})
	t.Run("the asker is \"my\"", func(t *testing.T) {
		r := p.run("", "recall", "my hotel", "--as", "ada")
		check.Equal(t, "exit code", r.code, 0)
		check.Equal(t, "errors", r.err, "")
	})
	t.Run("a channel there is none of", func(t *testing.T) {
		r := p.run("", "recall", "hotel", "--channel", "nowhere")
		check.Equal(t, "exit code", r.code, exitNotFound)
		check.Equal(t, "errors", r.err, "cairn: channel nowhere: not found: known: terminal:general\n")
	})
	for _, test := range []struct {
		name, want string
		args       []string
	}{
		{"a kind there is none of", `--kind "gossip": must be one of identity, goal`, []string{"recall", "x", "--kind", "gossip"}},
		{"no question", "requires at least 1 arg(s), only received 0; see `cairn recall --help`", []string{"recall"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p.fails(exitUsage, test.want, test.args...)
		})
	}
}
