package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"

	"golang.org/x/sys/unix"

	"cairn/llm/llmtest"
)

// breakDisk makes every write of a running program fail, until the returned function is called.
func breakDisk(t *testing.T, pid int) (mend func()) {
	t.Helper()
	var was unix.Rlimit
	check.NoError(t, unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Max: unix.RLIM_INFINITY}, &was))
	return func() {
		t.Helper()
		check.NoError(t, unix.Prlimit(pid, unix.RLIMIT_FSIZE, &was, nil))
	}
}

// lockDatabase holds the write lock, like a tool that was left open.
func (p folder) lockDatabase() (release func()) {
	p.t.Helper()
	db := check.Must(sql.Open("sqlite3", filepath.Join(p.dir, "data", "cairn.db")+"?_txlock=immediate&_busy_timeout=10000"))(p.t)
	tx := check.Must(db.Begin())(p.t)
	return func() { tx.Rollback(); db.Close() }
}

// moveDatabase renames the file.
func (p folder) moveDatabase() (back func()) {
	p.t.Helper()
	file := filepath.Join(p.dir, "data", "cairn.db")
	check.NoError(p.t, os.Rename(file, file+".away"))
	return func() { check.NoError(p.t, os.Rename(file+".away", file)) }
}

// saidTo sends a line of JSON, and returns whether it was accepted, or the reason.
func (l *live) saidTo(id, channel string) (accepted bool, words string) {
	l.t.Helper()
	l.say(fmt.Sprintf(`{"text":"message %s","id":%q,"channel":%q}`, id, id, channel))
	for {
		line := l.until(`"channel":"` + channel + `"`)
		var told struct {
			Type, ID, Text string
			To             []string
		}
		check.NoError(l.t, json.Unmarshal([]byte(line[len(line)-1]), &told))
		switch {
		case told.Type == "accepted" && told.ID == id:
			return true, ""
		case told.Type == "error" && len(told.To) == 1 && told.To[0] == id:
			return false, told.Text
		}
	}
}

// The disk fails and recovers: rejected messages are reported and not acknowledged, and afterwards
// everything works.
func TestFailingDisk(t *testing.T) {
	t.Parallel()
	const again = "Your message could not be saved, so it was not accepted. Send it again later."
	for name, c := range map[string]struct {
		breaks func(folder, *live) (mend func())
		words  string
	}{
		"every write fails":             {func(p folder, l *live) func() { return breakDisk(p.t, l.cmd.Process.Pid) }, again},
		"another process holds it long": {func(p folder, _ *live) func() { return p.lockDatabase() }, again},
		"it is moved away": {
			func(p folder, _ *live) func() { return p.moveDatabase() },
			"My database was deleted or moved, so I cannot save anything. Ask the bot's operator to put it back.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFolder(t)
			l := p.start("chat", "--json")
			if ok, words := l.saidTo("1", "a"); !ok {
				t.Fatal(words)
			}
			l.until(`"reply"`)
			for p.waiting() > 0 { // it is not yet recorded as sent
				time.Sleep(10 * time.Millisecond)
			}
			mend := c.breaks(p, l)
			for i, where := range []string{"a", "b"} {
				if ok, words := l.saidTo(fmt.Sprint("refused", i), where); ok || words != c.words {
					t.Errorf("%s: accepted %v, %q", where, ok, words)
				}
			}
			mend()
			for _, where := range []string{"a", "b"} {
				if ok, words := l.saidTo("2"+where, where); !ok {
					t.Error(words)
				}
			}
			l.end()
			said := l.errs.String()
			check.Equal(t, "the log", strings.Count(said, "\n"), 1)
			check.Contains(t, "the log", said, "save_message_failed")
			for where, want := range map[string]string{"a": "message 1|message 2a", "b": "message 2b"} {
				check.Equal(t, where, p.heard(where), want)
			}
			p.must("", "doctor")
		})
	}
}

// heard returns people's messages in a channel, from the transcript.
func (p folder) heard(channel string) string {
	p.t.Helper()
	var said []string
	for _, m := range parse[struct{ Role, Text string }](p.t, p.must("", "transcript", "--json", "--channel", channel)) {
		if m.Role == "user" {
			said = append(said, m.Text)
		}
	}
	return strings.Join(said, "|")
}

func TestReplyIsSentAfterDiskFailure(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan struct{}, 9), make(chan struct{})
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if !isStartCheck(x.Request) {
			asked <- struct{}{}
			<-goOn
		}
		x.Say("Here I am.")
	})
	p := newFolder(t, "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m")
	l := p.start("chat", "--json")
	l.say(`{"text":"hello?","id":"1"}`)
	<-asked
	mend := breakDisk(t, l.cmd.Process.Pid)
	close(goOn)
	l.until("I cannot save my answer to disk, so I am holding it back and trying again. Your message is saved.")
	mend()
	line := l.until(`"reply"`)
	check.Contains(t, "last reply", line[len(line)-1], "Here I am.")
	check.Lacks(t, "what it went on with", strings.Join(l.end(), ""), `"reply"`)
	check.Equal(t, "stored copies of the answer", strings.Count(p.must("", "transcript", "--json"), "Here I am."), 1)
}

// On the platforms only stored messages are acknowledged, and messages from the failure are
// answered once the disk works: without a restart, and with one warning per connector.
func TestFailingDiskOnPlatforms(t *testing.T) {
	t.Parallel()
	p, f, r := answering(t, "Here I am.")
	p.sayOnBoth("one")
	p.until(r, "both are answered", func() bool { return p.answers("Here I am.") == [2]int{1, 1} })
	p.until(r, "all is written", func() bool { return f.waiting() == 0 })
	mend := breakDisk(t, r.cmd.Process.Pid)
	p.sayOnBoth("two")
	p.until(r, "both connectors warn", func() bool {
		said := r.errs.String()
		return strings.Contains(said, `"store_message_failed","connector":"discord"`) && strings.Contains(said, `"store_message_failed","connector":"slack"`)
	})
	p.sayOnBoth("three")
	for _, d := range p.slack.Deliveries() {
		if !d.Acked.IsZero() && (strings.Contains(string(d.Payload), "two") || strings.Contains(string(d.Payload), "three")) {
			t.Error("Slack got an acknowledgement of a message that is not on disk")
		}
	}
	mend()
	p.until(r, "all is heard and answered", func() bool {
		return f.count("SELECT count(*) FROM messages WHERE text IN ('two', 'three') OR text LIKE '% two' OR text LIKE '% three'") == 4 && f.waiting() == 0
	})
	r.stop()
	said := r.errs.String()
	for _, warning := range []string{`"store_message_failed","connector":"discord"`, `"store_message_failed","connector":"slack"`} {
		if n := strings.Count(said, warning); n != 1 {
			t.Errorf("got %[2]d copies of %[1]q in\n%[3]s", warning, n, said)
		}
	}
}

// database opens the folder's database as a tool does.
func (p folder) database() *sql.DB {
	p.t.Helper()
	db := check.Must(sql.Open("sqlite3", filepath.Join(p.dir, "data", "cairn.db")+"?_busy_timeout=5000"))(p.t)
	return db
}

// count returns the result of a query in the database.
func (p folder) count(query string) (n int) {
	p.t.Helper()
	db := p.database()
	defer db.Close()
	check.NoError(p.t, db.QueryRow(query).Scan(&n))
	return n
}

// waiting counts messages to dequeue, and replies to create and send.
func (p folder) waiting() int {
	p.t.Helper()
	return p.count("SELECT (SELECT count(*) FROM inbox) + (SELECT count(*) FROM messages WHERE answered = 0) + (SELECT count(*) FROM outbox WHERE state <> 'sent')")
}
