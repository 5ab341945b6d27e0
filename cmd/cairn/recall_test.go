package main

import (
	"fmt"
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

func TestRecall(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.must("", "import", p.write("past.jsonl", `{"id":"1","author":"Ada","time":"2026-05-01T10:00:00Z","text":"We chose the hotel by the harbour"}
{"id":"2","author":"Bob","time":"2026-05-03T10:00:00Z","text":"The hotel wants the money by Friday"}
{"id":"3","author":"Bob","time":"2026-05-04T10:00:00Z","text":"Rain again"}
{"id":"4","author":"Bob","time":"2026-05-04T11:00:00Z","text":"And wind"}
{"id":"5","author":"Ada","time":"2026-05-09T10:00:00Z","text":"I am out of coffee"}
{"id":"6","author":"Ada","time":"2026-05-10T10:00:00Z","text":"","attachments":[{"kind":"image","name":"a.png","caption":"a lighthouse at dusk"}]}
{"id":"7","author":"Bob","time":"2026-05-11T10:00:00Z","text":"see there","attachments":[{"kind":"file","name":"b.txt","text":"`+strings.Repeat("It rained. ", 100)+`The museum is shut. `+strings.Repeat("It rained. ", 100)+`"}]}
`))
	out := p.must("", "recall", "which", "hotel", "by", "the", "harbour?")
	check.HasPrefix(t, "output", out, "Said:\n#1  2026-05-01 10:00  Ada: We chose the hotel by the harbour\n#2 ")
	check.Lacks(t, "output", out, "score")
	check.Equal(t, "results for a word", strings.Count(p.must("", "recall", "hotel"), "\n#"), 2)
	check.Contains(t, "explained output", p.must("", "recall", "--explain", "hotel"), "score ", ": words +")
	all := parse[recallFound](t, p.must("", "recall", "--json", "--limit", "1", "hotel harbour"))
	check.Len(t, "results", all, 1)
	check.That(t, all[0].Message.Seq == 1 && all[0].Score > 0 && len(all[0].Parts) > 0, "got %+v", all)
	all = parse[recallFound](t, p.must("", "recall", "--json", "--since", "2026-05-02", "hotel harbour"))
	check.That(t, len(all) > 0 && all[0].Message.Seq == 2 && !slices.ContainsFunc(all, func(f recallFound) bool { return f.Message.Seq == 1 }), "since a day: got %+v", all)

	// A caption and what a file holds are shown where they match.
	check.Contains(t, "output", p.must("", "recall", "lighthouse"), "Ada: [image: a.png, a lighthouse at dusk]\n")
	out = p.must("", "recall", "museum")
	check.Contains(t, "output", out, "Bob: see there\n       [file: b.txt]\n       … ", "The museum is shut.")
	check.That(t, len(out) < 900, "got %s", out)
	check.Contains(t, "output as JSON", p.must("", "recall", "lighthouse", "--json"), `"text":"","attachments":[{"kind":"image","name":"a.png","caption":"a lighthouse at dusk"}]},"match":"[image: a.png, a lighthouse at dusk]"}`)

	r := p.run("", "recall", "xylophone")
	check.Equal(t, "nothing", fmt.Sprint(r), fmt.Sprint(result{err: "nothing found\n"}))
	r = p.run("", "recall", "my hotel", "--as", "ada")
	check.Equal(t, "exit code and errors where the asker is \"my\"", fmt.Sprint(r.code, r.err), "0")
	p.fails(exitNotFound, "cairn: channel nowhere: not found: known: terminal:general\n", "recall", "hotel", "--channel", "nowhere")
	p.fails(exitUsage, `--kind "gossip": must be one of identity, goal`, "recall", "x", "--kind", "gossip")
	p.fails(exitUsage, "requires at least 1 arg(s), only received 0; see `cairn recall --help`", "recall")

	// Memories come first.
	p.must("/remember the hotel has no lift\n", "chat", "--channel", "stay")
	p.must("The hotel is dear.\n", "chat", "--channel", "stay")
	out = p.must("", "recall", "hotel", "--channel", "stay")
	check.HasPrefix(t, "output", out, "Remembered:\n(1) fact: the hotel has no lift (")
	check.Contains(t, "output", out, "\n\nSaid:\n")
	all = parse[recallFound](t, p.must("", "recall", "hotel", "--kind", "fact", "--json", "--channel", "stay"))
	check.That(t, len(all) == 1 && all[0].Memory != nil && all[0].Memory.Content == "the hotel has no lift", "got %+v", all)
}
