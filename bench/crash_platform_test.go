package main

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
)

// TestDifferencesFromThePlatform has something differ between a database and a platform.
func TestDifferencesFromThePlatform(t *testing.T) {
	for name, test := range map[string]struct {
		sql  string                                         // done to the database
		do   func(d *discordtest.Server, said, sent string) // done on the platform
		want string                                         // empty: nothing is wrong
	}{
		"nothing":                         {},
		"a message that waits":            {sql: "INSERT INTO inbox (conversation, platform_id, author_id, author, text, attachments, reply_to, said_at, received_at, addressed) SELECT conversation, 'm9', '', '', 'm9: x', '', '', 1, 1, 1 FROM messages WHERE seq = 1", want: "messages waited to be taken up"},
		"a message that is lost":          {sql: "DELETE FROM messages WHERE seq = 1", want: "is lost"},
		"a message in other words":        {sql: "UPDATE messages SET text = 'other' WHERE seq = 1", want: "says \"other\" in the transcript"},
		"a message that nobody said":      {sql: "UPDATE messages SET platform_id = '7' WHERE seq = 1", want: "7 is in the transcript, and nobody said it"},
		"an answer that nobody knows":     {sql: "DELETE FROM outbox", want: unknownAnswer},
		"a question without an answer":    {sql: "DELETE FROM outbox", want: "has no answer"},
		"a question answered twice":       {sql: "INSERT INTO outbox (conversation, reply, part, parts, answers, text, failure, state, platform_id, created_at) SELECT conversation, 'reply-9', 0, 1, answers, '', 0, 'sent', platform_id || '9', 1 FROM outbox", want: "was answered by reply-2, reply-9"},
		"an answer that is not there":     {do: func(d *discordtest.Server, said, sent string) { d.Delete(said, sent) }, want: "is not on the platform"},
		"an answer in other words":        {sql: "UPDATE messages SET text = 'No.' WHERE seq = 2", want: "is \"Yes.\" on the platform, and \"No.\" in the transcript"},
		"a deletion that was not noticed": {want: "was deleted and is in the transcript"},
		"messages in another order":       {want: "comes after"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &crashRun{program: program{t.TempDir()}, clients: newClients(1)}
			h.people = newPeople(h.clients, newDiscordSide())
			defer h.people.Close()
			var earlier *remark
			if name == "messages in another order" {
				earlier = h.people.sayLocked(0, h.clients.random)
				earlier.addressed = false
			}
			u := h.people.sayLocked(0, h.clients.random)
			u.addressed = true
			d := h.people.side.(*discordSide)
			room := path.Base(d.all[0])
			sent := d.Say(room, d.Bot.ID, "Yes.").ID
			sql := test.sql
			if earlier != nil {
				sql = fmt.Sprintf("INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, calls, call_id, tool, native, said_at, saved_at, addressed, attempts, tokens) SELECT id + 2, seq + 2, role, '%s', '', '', '%s', '', '', '', '', '', '', 1, 1, 0, 0, 1 FROM messages WHERE seq = 1", earlier.id, earlier.text)
			}
			u.forgotten = name == "a deletion that was not noticed"
			if test.do != nil {
				test.do(d.Server, room, sent)
			}
			answered(t, filepath.Join(h.dir, "data"), "discord:"+u.channel, u, fmt.Sprintf("UPDATE outbox SET platform_id = '%s'; %s", sent, sql))
			var found []string
			check.NoError(t, h.differLocked(t.Context(), "data", func(what string) { found = append(found, what) }))
			got := strings.Join(found, "; ")
			check.That(t, strings.Contains(got, test.want) && (got == "") == (test.want == ""), "found %q, want %q", got, test.want)
		})
	}
}
