package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"cairn/testkit/check"
)

const importedMessages = 1100 // more than one transaction stores

func importFolder(t *testing.T) folder {
	t.Helper()
	p := newFolder(t).with("[[agents]]\nid = \"small\"\ncontext_window = 6000\nmax_output_tokens = 300")
	var b strings.Builder
	for i := range importedMessages {
		fmt.Fprintf(&b, `{"id":"p%d","time":"2025-03-%02dT10:%02d:00Z","author":%q,"text":"I decided to visit town %d, because of the party."}`+"\n",
			i, 1+i/60, i%60, []string{"Ada", "Helper"}[i%2], i)
	}
	p.write("past.jsonl", b.String())
	return p
}

// wantImported checks that each message is stored once and summarized once or verbatim, and that nothing was truncated.
func (p folder) wantImported() {
	p.t.Helper()
	for query, want := range map[string]int{
		"SELECT count(*) FROM messages":                                                                    importedMessages,
		"SELECT count(DISTINCT platform_id) FROM messages":                                                 importedMessages,
		"SELECT max(unread_from) FROM conversations":                                                       0,
		"SELECT count(*) FROM compactions WHERE trigger = 'emergency'":                                     0,
		"SELECT count(*) FROM compactions WHERE kind = 'placeholder'":                                      0,
		"SELECT count(*) FROM compactions WHERE state IN ('running', 'prepared') AND trigger <> 'prepare'": 0,
		`SELECT count(*) FROM compactions a JOIN compactions b ON a.id < b.id AND a.from_seq <= b.to_seq AND b.from_seq <= a.to_seq
			WHERE a.kind = 'leaf' AND b.kind = 'leaf' AND a.state IN ('applied', 'rolled_up') AND b.state IN ('applied', 'rolled_up')`: 0,
		"SELECT count(*) > 40 FROM memories":                     1,
		"SELECT count(*) - count(DISTINCT folded) FROM memories": 0,
	} {
		check.Equal(p.t, query, p.count(query), want)
	}
	p.hasSoundData()
}

// TestKillAnImport kills `cairn import` with SIGKILL at each step. The same command finishes it, or, once all messages are
// stored, the next start of the bot: nothing is lost, doubled or truncated.
func TestKillAnImport(t *testing.T) {
	check.SkipUnderRace(t)
	skipIfShort(t, "it imports a thousand messages again and again")
	again := []string{"import", "--channel", "past", "past.jsonl"}
	start := []string{"chat", "--channel", "past"}
	const read = "UPDATE OF unread_from ON main.conversations"
	for _, s := range []struct {
		name   string
		death  killStep
		stored bool // all messages are: the next start of the bot finishes it too
	}{
		{"the second batch is being stored", killStep{On: "INSERT ON main.messages", When: "new.seq = 1050", At: atRow}, false},
		{"the first batch is about to be stored", killStep{On: read, When: "old.unread_from = 0", At: atCommit}, false},
		{"the first batch is stored", killStep{On: read, When: "old.unread_from = 0", At: after}, false},
		{"messages are about to be read", killStep{On: read, When: "new.unread_from > 400", At: atCommit}, true},
		{"messages were read", killStep{On: read, When: "new.unread_from > 400", At: after}, true},
		{"a summary is planned", killStep{On: planned, When: "new.from_seq > 500", At: after}, true},
		{"a memory is being saved", killStep{On: "INSERT ON main.memories", When: "new.id = 20", At: atRow}, true},
		{"a summary is stored", killStep{On: changes, When: "new.state = 'prepared' AND new.from_seq > 300", At: after}, true},
		{"a summary was applied", killStep{On: changes, When: "new.state = 'applied' AND new.from_seq > 300", At: after}, true},
		{"the last messages are about to be read", killStep{On: read, When: "old.unread_from > 0 AND new.unread_from = 0", At: atCommit}, true},
	} {
		t.Run(s.name, func(t *testing.T) {
			p := importFolder(t)
			dying := p
			dying.env = append(dying.env[:len(dying.env):len(dying.env)], s.death.env(t))
			dying.start(again...).killed()
			if s.stored {
				check.Contains(t, "what is not summarized is found", p.must("", "recall", "--channel", "past", "town 1099"), "town 1099")
				p.must("", start...)
				p.wantImported()
			}
			check.HasPrefix(t, "output", p.must("", again...), "imported ")
			p.wantImported()
		})
	}
}

// TestStopAnImport: Ctrl-C says what is done, and what does the rest.
func TestStopAnImport(t *testing.T) {
	check.SkipUnderRace(t)
	p := importFolder(t)
	p.write("first.jsonl", strings.SplitAfter(p.read("past.jsonl"), "\n")[0])
	p.must("", "import", "--channel", "past", "first.jsonl")
	l := p.start("import", "--channel", "past", "past.jsonl")
	eventually(t, "messages are being summarized", l.errs.String, func() bool { return p.count("SELECT max(unread_from) FROM conversations") > 100 })
	l.signal(syscall.SIGINT)
	l.exits(130)
	check.Contains(t, "what it says", l.errs.String(), "stopped: ", " in past and can be searched", "the same command")
	check.HasPrefix(t, "output", p.must("", "import", "--channel", "past", "past.jsonl"), "imported ")
	p.wantImported()
}
