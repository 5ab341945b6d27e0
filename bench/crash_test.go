package main

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func TestCrash(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds the program and kills it")
	}
	for _, on := range []string{"terminal", "discord", "slack"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			r, _ := ranAs[crashes](t, "crash", "--on", on, "--kills", "2", "--seed", fmt.Sprint(time.Now().UnixNano()))
			check.That(t, len(r.Wrong) == 0 && r.Kills == 2 && r.Accepted >= len(crashChannels) && r.Accepted == r.Said && r.Addressed > 0 && len(r.At) > 0, "%+v", r)
		})
	}
}

// TestCrashIsFoundOut shows the clients and the lookout what must not be.
func TestCrashIsFoundOut(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string // of the bot, beside those that are as they should be
		sql   string   // done to the database
		want  string   // empty: nothing is wrong
	}{
		"nothing":                        {},
		"a reply that comes again":       {lines: []string{`{"type":"reply","channel":"general","id":"reply-2","to":["m1"],"text":"Yes."}`}},
		"a reply that comes otherwise":   {lines: []string{`{"type":"reply","channel":"general","id":"reply-2","to":["m1"],"text":"No."}`}, want: "said first"},
		"two replies":                    {lines: []string{`{"type":"reply","channel":"general","id":"reply-9","to":["m1"],"text":"Yes."}`}, want: "reply-9 was seen and is not on disk; m1 in general was answered by"},
		"words on a failure beside it":   {lines: []string{`{"type":"error","channel":"general","to":["m1"],"text":"No."}`}, want: "m1 in general was answered by"},
		"two places":                     {lines: []string{`{"type":"accepted","channel":"general","id":"m1","seq":7}`}, want: "accepted as #1, and as #7"},
		"a message that is not there":    {sql: "DELETE FROM messages WHERE seq = 1", want: "m1 was accepted and is lost"},
		"a message that is deleted":      {sql: "UPDATE messages SET deleted_at = 1, text = '' WHERE seq = 1", want: "m1 was deleted, and nobody wanted that"},
		"a message in other words":       {sql: "UPDATE messages SET text = 'other' WHERE seq = 1", want: "m1 says"},
		"a message also in the inbox":    {sql: "INSERT INTO inbox (conversation, platform_id, author_id, author, text, attachments, reply_to, said_at, received_at, addressed) SELECT conversation, platform_id, '', '', text, '', '', 1, 1, 1 FROM messages WHERE seq = 1", want: "m1 is there twice"},
		"a second answer in one turn":    {sql: "INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, calls, call_id, tool, native, said_at, saved_at, addressed, attempts, tokens) SELECT id + 1, turn, role, 'reply-3', '', '', 'No.', '', '', '', '', '', '', 1, 1, 0, 0, 1 FROM messages WHERE seq = 2; UPDATE conversations SET next_seq = 4", want: "#1 was answered twice"},
		"what cannot be in a database":   {sql: "UPDATE messages SET turn = 2 WHERE seq = 1", want: "#1 is of a turn that begins at #2"},
		"a piece that was given up":      {sql: "UPDATE outbox SET state = 'dropped'", want: "reply-2 was not sent and given up"},
		"a message that nobody has said": {sql: "UPDATE messages SET platform_id = 'm7' WHERE seq = 1", want: "m7 stands in terminal:general, where nobody said it"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &crashRun{program: program{t.TempDir()}, clients: newClients(1), oracle: newOracle(1)}
			defer h.oracle.server.Close()
			h.examiner = examiner{clients: h.clients, connector: "terminal"}
			data := filepath.Join(h.dir, "data")
			u := &remark{channel: "general", author: "Ann", addressed: true}
			h.clients.sayLocked(u, "", 5)
			answered(t, data, "terminal:"+u.channel, u, test.sql)
			for _, line := range append([]string{
				`{"type":"accepted","channel":"general","id":"m1","seq":1}`,
				`{"type":"reply","channel":"general","id":"reply-2","to":["m1"],"text":"Yes."}`,
			}, test.lines...) {
				h.clients.hear([]byte(line))
			}
			check.NoError(t, check.ErrorOf(h.examiner.examine(t.Context(), data, filepath.Join(h.dir, "copy"))))
			got := strings.Join(h.result(0).Wrong, "; ")
			check.That(t, strings.Contains(got, test.want) && (got == "") == (test.want == ""), "found %q, want %q", got, test.want)
		})
	}
}

// answered leaves a database in which a message was answered, and a statement was run.
func answered(t *testing.T, dir, conversation string, u *remark, statement string) {
	t.Helper()
	data := check.Must(store.Open(t.Context(), store.Options{Dir: dir}))(t)
	conv := check.Must(data.Conversation(t.Context(), conversation))(t)
	check.Must(conv.Inbox().Deliver(t.Context(), store.Inbound{ID: u.id, AuthorID: u.author, Author: u.author, Text: u.text, Time: time.Now(), Addressed: true}))(t)
	check.Must(conv.Inbox().Dequeue(t.Context(), store.All, 1000, time.Time{}))(t)
	reply := []chat.Message{{Seq: 2, Turn: 1, ID: "reply-2", Role: llm.RoleAssistant, Text: "Yes.", Time: time.Now()}}
	check.Must(conv.Turns().Finish(t.Context(), store.Outcome{Turn: 1, Messages: reply, Reply: "reply-2", To: []string{u.id}, Pieces: []string{"Yes."}}))(t)
	check.NoError(t, conv.Outbox().Sent(t.Context(), 1, "reply-2"))
	check.NoError(t, data.Close())
	db := check.Must(sql.Open("sqlite3", store.File(dir)))(t)
	defer db.Close()
	check.Must(db.Exec(statement))(t)
}

// atEach are faults that are met at each position in any case. The others are met at one, by turns.
// `go run ./bench faults` leaves out none.
var atEach = []string{"503", "cut in mid-stream", "a tool for ever"}

func TestFaults(t *testing.T) {
	check.SkipUnderRace(t)
	faults := llmtest.Faults()
	at := func(i int) []string {
		if slices.Contains(atEach, faults[i].Name) {
			return positions
		}
		return positions[i%3 : i%3+1]
	}
	result := check.Must(injectFaults(t.Context(), silent, faults, 1, at))(t)
	for i, f := range result.Faults {
		check.EqualAll(t, f.Name+": broken promises", f.Broken, nil)
		check.Equal(t, f.Name+": times that it was met", f.Injected, len(at(i)))
	}
	check.Equal(t, "met in all", result.Total.Injected, len(faults)+len(atEach)*(len(positions)-1))
	for _, g := range result.Targets {
		check.That(t, g.Met, "%s: %v, not %v", g.Name, g.Value, g.Must)
	}
	t.Logf("%d faults in %.1f s, %d MiB", result.Total.Injected, result.Seconds, result.HeapMiB)
}
