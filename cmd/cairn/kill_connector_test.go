package main

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

type side struct {
	name  string
	say   func(p *platforms, text string)
	shown func(p *platforms) []string // texts of the bot's messages there
}

const second = "new.text LIKE '%Where do we stand%'"

// connectorSteps are killed at a change of the database; when half of the answer is shown; or at a
// post, before it takes effect.
var connectorSteps = []step{
	{name: "a message has come and is not in the inbox", death: killStep{On: "INSERT ON main.inbox", When: second, At: atRow}},
	{name: "a message is in the inbox and not taken up", death: killStep{On: "INSERT ON main.inbox", When: second, At: after}},
	{name: "half of the answer is shown", server: "half"},
	{name: "a reply is being posted", server: "post"},
	{name: "a reply was posted, and that is not noted", death: killStep{On: "UPDATE ON main.outbox", When: "new.id > 1 AND new.state = 'sent'", At: atRow}},
}

// TestKillAtEveryStepOfAConnector kills the program while it sends to a platform. The next process
// looks up what may have been sent, and sends it once.
func TestKillAtEveryStepOfAConnector(t *testing.T) {
	check.SkipUnderRace(t)
	skipIfShort(t, "it starts a program and two platforms for each step")
	t.Parallel()
	for _, on := range []side{{"Discord", (*platforms).sayOnDiscord, (*platforms).onDiscord}, {"Slack", (*platforms).sayOnSlack, (*platforms).onSlack}} {
		for _, s := range connectorSteps {
			t.Run(on.name+": "+s.name, func(t *testing.T) {
				on.die(t, s)
			})
		}
	}
}

const begin, end = "This is where we stand: ", "the gate is green."

func (on side) die(t *testing.T, s step) {
	killed := make(chan struct{})
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		select {
		case <-killed:
		default:
			if s.server == "half" && strings.Contains(x.Request.Last().Text(), "Where do we stand?") {
				x.Piece(begin)
				x.Wait(time.Minute) // until the client is gone
				return
			}
		}
		x.Say(begin, end)
	})
	p := newPlatforms(t)
	f := p.folder("", modelAt(server)...)
	on.killed(p, f, s)
	close(killed)
	p.slack.Clear()

	r := f.start("run")
	p.until(r, "the answer", func() bool { return slices.Equal(on.shown(p), []string{begin + end, begin + end}) })
	on.say(p, "And now?")
	p.until(r, "the next answer", func() bool { return len(on.shown(p)) > 2 && strings.HasSuffix(on.shown(p)[2], end) })
	r.stop()
	check.EqualAll(t, r.errs.String(), on.shown(p), []string{begin + end, begin + end, begin + end})
	f.examined()
	check.Equal(t, "questions, answers, pieces and their ids; not sent, not answered, not taken up", f.ask(
		"count(*) FROM messages WHERE role = 'user'", "count(*) FROM messages WHERE role = 'assistant'",
		"count(*) FROM outbox", "count(DISTINCT platform_id) FROM outbox", "count(*) FROM outbox WHERE state <> 'sent'",
		"count(*) FROM messages WHERE answered = 0", "(SELECT count(*) FROM inbox) + count(*) FROM gone"), "3 3 3 3 0 0 0")
}

// killed kills the program at the step, while it answers a second message, and checks that it did.
func (on side) killed(p *platforms, f folder, s step) {
	p.t.Helper()
	if s.death != (killStep{}) {
		f.env = append(slices.Clone(f.env), s.death.env(p.t))
	}
	r := f.start("run")
	p.open(r)
	on.say(p, "Hello.")
	p.until(r, "the first answer, and that it was sent", func() bool {
		return slices.Equal(on.shown(p), []string{begin + end}) && f.waiting() == 0
	})
	const post = "POST /channels/*/messages"
	posts := func() int {
		return len(p.discord.Requests(post)) + p.slack.Seen("chat.postMessage") + p.slack.Seen("chat.startStream")
	}
	shown := len(on.shown(p))
	posted := posts()
	if s.server == "post" { // posts are delayed before they take effect
		p.discord.Fail(discordtest.Fault{Of: post, Delay: time.Minute})
		for _, method := range []string{"chat.postMessage", "chat.startStream"} {
			p.slack.Fail(slacktest.Fault{Of: method, Delay: time.Minute})
		}
	}
	on.say(p, "Where do we stand?")
	if s.server != "" {
		p.until(r, s.name, func() bool {
			return s.server == "half" && len(on.shown(p)) > shown || s.server == "post" && posts() > posted
		})
		_ = r.cmd.Process.Kill() // the exit code shows it
	}
	r.killed()
}

// left is a file of the first version: an unanswered turn, a message to dequeue, and a reply to
// send.
const left = `
INSERT INTO conversations (id, name, origin, next_seq, created_at) VALUES (1, 'terminal:general', 'live', 4, 10);
INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens) VALUES
  (1 << 32 | 1, 1, 'user', 'm1', 'u1', 'Ann', 'I live in Turin', '', '', '', '', '', '', %[1]d, %[1]d, 1, 1, 1, 9),
  (1 << 32 | 2, 1, 'assistant', 'reply-2', '', '', 'I see.', '', '', '', '', '', '', %[1]d, %[1]d, 0, NULL, 0, 8),
  (1 << 32 | 3, 3, 'user', 'm2', 'u1', 'Ann', 'and where does Bob live?', '', '', '', '', '', '', %[1]d, %[1]d, 1, 0, 1, 7);
INSERT INTO inbox (conversation, platform_id, author_id, author, text, attachments, reply_to, said_at, received_at, addressed) VALUES
  (1, 'm3', 'u1', 'Ann', 'are you there?', '', '', %[1]d, %[1]d, 1);
INSERT INTO outbox (conversation, reply, part, parts, answers, text, failure, state, platform_id, created_at) VALUES
  (1, 'reply-2', 0, 1, '["m1"]', 'I see.', 0, 'waiting', '', %[1]d);
PRAGMA user_version = 1`

// TestKillInAMigration kills the program while it upgrades the file of each earlier version: the
// file still has the earlier version, its copy is whole or missing, and the next process upgrades
// it.
func TestKillInAMigration(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	versions, err := filepath.Glob(checkout + "/store/migrations/*.sql")
	check.Require(t, err == nil && len(versions) >= 2, "%q, %v", versions, err)
	file := t.TempDir()
	for version := 1; version < len(versions); version++ {
		script := read(t, fmt.Sprintf(checkout+"/store/migrations/%d.sql", version))
		if version == 1 {
			script += fmt.Sprintf(left, time.Now().UnixMilli())
		}
		db := check.Must(sql.Open("sqlite3", store.File(file)+"?_journal_mode=WAL"))(t)
		_, err := db.Exec(fmt.Sprintf("%s; PRAGMA user_version = %d", script, version))
		check.NoError(t, errors.Join(err, db.Close()))
		earlier := filepath.Join(t.TempDir(), "earlier")
		check.NoError(t, os.CopyFS(earlier, os.DirFS(file)))
		once := version % 4
		if next := read(t, fmt.Sprintf(checkout+"/store/migrations/%d.sql", version+1)); once == 1 && strings.Count(next, ";\n") == 1 {
			once = 0 // it has no middle
		}
		for i, s := range []step{
			{name: "at its beginning", death: killStep{Schema: 1}},
			{name: "in the middle", death: killStep{Schema: 2}},
			{name: "before it is written", death: killStep{At: atCommit}},
			{name: "in the copy of it", death: killStep{Schema: 3, Copy: true}},
		} {
			if version > 1 && i != once { // each version once, the oldest at each point
				continue
			}
			t.Run(fmt.Sprintf("from version %d, %s", version, s.name), func(t *testing.T) {
				p := newFolder(t)
				check.NoError(t, os.CopyFS(filepath.Join(p.dir, "data"), os.DirFS(earlier)))
				w := newRecorder(t, p)
				w.killed(s, `{"text":"/help"}`)
				check.Equal(t, "version of the file", w.ask("* FROM pragma_user_version"), fmt.Sprint(version))
				copied := fmt.Sprintf("%s.before-%d", store.File(filepath.Join(p.dir, "data")), len(versions))
				check.Equal(t, "copy", errors.Is(check.ErrorOf(os.Stat(copied)), fs.ErrNotExist), s.death.Copy)
				w.said = []string{"m1", "m2", "m3"}
				w.goOn([]string{w.line("And now?")})
				check.Equal(t, "version of the file", w.ask("* FROM pragma_user_version"), fmt.Sprint(len(versions)))
				check.Equal(t, "version of the copy", check.Must(store.Inspect(t.Context(), copied))(t).Version, version)
				w.examined()
				w.judge()
			})
		}
	}
}
