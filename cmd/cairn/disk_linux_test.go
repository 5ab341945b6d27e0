package main

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// breakDisk makes every write of a running program fail, until the returned function is called.
func breakDisk(l *live) (repair func()) {
	l.t.Helper()
	var was unix.Rlimit
	check.NoError(l.t, unix.Prlimit(l.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Max: unix.RLIM_INFINITY}, &was))
	return func() { check.NoError(l.t, unix.Prlimit(l.cmd.Process.Pid, unix.RLIMIT_FSIZE, &was, nil)) }
}

func (l *live) saidTo(id, channel string) (why string) {
	l.t.Helper()
	l.say(fmt.Sprintf(`{"text":"message %s","id":%q,"channel":%q}`, id, id, channel))
	for {
		line := l.until(`"channel":"` + channel + `"`)
		told := parse[struct {
			Type, ID, Text string
			To             []string
		}](l.t, line[len(line)-1])[0]
		switch {
		case told.Type == "accepted" && told.ID == id:
			return ""
		case told.Type == "error" && len(told.To) == 1 && told.To[0] == id:
			return told.Text
		}
	}
}

// The disk fails and recovers: rejected messages are reported and not acknowledged, and afterwards
// everything works.
func TestFailingDisk(t *testing.T) {
	t.Parallel()
	const again = "Your message could not be saved, so it was not accepted. Send it again later."
	for name, c := range map[string]struct {
		breaks func(folder, *live) (repair func())
		words  string
		where  []string
	}{
		"every write fails": {func(_ folder, l *live) func() { return breakDisk(l) }, again, []string{"a", "b"}},
		"another process holds it long": {func(p folder, _ *live) func() {
			db := check.Must(sql.Open("sqlite3", filepath.Join(p.dir, "data", "cairn.db")+"?_txlock=immediate&_busy_timeout=10000"))(p.t)
			tx := check.Must(db.Begin())(p.t)
			return func() { tx.Rollback(); db.Close() }
		}, again, []string{"b"}},
		"it is moved away": {
			func(p folder, _ *live) func() {
				file := filepath.Join(p.dir, "data", "cairn.db")
				check.NoError(p.t, os.Rename(file, file+".away"))
				return func() { check.NoError(p.t, os.Rename(file+".away", file)) }
			},
			"My database was deleted or moved, so I cannot save anything. Ask the bot's operator to put it back.",
			[]string{"a", "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newFolder(t).with(noBackups) // else its failure is logged, too
			l := p.start("chat", "--json")
			check.Equal(t, "accepted", l.saidTo("1", "a"), "")
			l.until(`"reply"`)
			check.Require(t, check.Soon(func() bool { return p.waiting() == 0 }), "the reply is not recorded as sent")
			repair := c.breaks(p, l)
			for i, where := range c.where {
				check.Equal(t, where, l.saidTo(fmt.Sprint("refused", i), where), c.words)
			}
			repair()
			for _, where := range []string{"a", "b"} {
				check.Equal(t, where, l.saidTo("2"+where, where), "")
			}
			l.end()
			check.Equal(t, "lines of the log: "+l.errs.String(), strings.Count(l.errs.String(), "\n"), 1)
			check.Contains(t, "the log", l.errs.String(), "save_message_failed")
			check.Equal(t, "what was heard", p.count("SELECT count(*) FROM messages WHERE role = 'user'"), 3)
			check.Equal(t, "what was accepted", p.count("SELECT count(*) FROM messages WHERE platform_id IN ('1', '2a', '2b')"), 3)
			p.hasSoundData()
		})
	}
}

// On the platforms only stored messages are acknowledged, an answer that cannot be stored is held
// back, and everything goes on once the disk works: without a restart, and with one warning per
// connector.
func TestFailingDiskOnPlatforms(t *testing.T) {
	asked := make(chan struct{}, 9)
	goOn := make(chan struct{})
	p, f, r := served(t, func(x *llmtest.Exchange) {
		if strings.Contains(x.Request.Last().Text(), "one") {
			asked <- struct{}{}
			<-goOn
		}
		x.Say("Here I am.")
	})
	p.sayOnBoth("one")
	<-asked
	<-asked
	repair := breakDisk(r)
	close(goOn)
	p.sayOnBoth("two")
	warnings := []string{`"store_message_failed","connector":"discord"`, `"store_message_failed","connector":"slack"`}
	r.logs(append(warnings, "conversation_stalled")...)
	p.sayOnBoth("three")
	for _, d := range p.slack.Deliveries() {
		if !d.Acked.IsZero() {
			check.Lacks(t, "an acknowledged message that is not on disk", string(d.Payload), "two", "three")
		}
	}
	check.Equal(t, "answers that are not on disk", p.answers("Here I am."), [2]int{})
	repair()
	p.until(r, "all is heard and answered", func() bool {
		return f.count("SELECT count(*) FROM messages WHERE text IN ('two', 'three') OR text LIKE '% two' OR text LIKE '% three'") == 4 && f.waiting() == 0
	})
	answers := p.answers("Here I am.")
	check.Equal(t, "stored answers", f.count("SELECT count(*) FROM messages WHERE text = 'Here I am.'"), answers[0]+answers[1])
	r.stop()
	for _, warning := range warnings {
		check.Equal(t, warning, strings.Count(r.errs.String(), warning), 1)
	}
}

func TestFullDisk(t *testing.T) {
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=2m,mode=700"); err != nil {
		t.Skip("no small disk can be mounted here:", err)
	}
	defer unix.Unmount(small, unix.MNT_DETACH)
	p := newFolder(t).with(noBackups) // one that starts late and fails would make room again
	data := filepath.Join(small, "data")
	l := p.start("chat", "--json", "--data", data)
	check.Equal(t, "accepted", l.saidTo("1", "a"), "")
	command := func(line string) string {
		return l.ask(fmt.Sprintf(`{"text":%q,"id":%q,"channel":"a"}`, line, line), fmt.Sprintf(`"to":[%q]`, line))
	}
	command("/pins") // which waits until the first reply is noted as sent
	filler := filepath.Join(small, "filler")
	fill := func() {
		file := check.Must(os.Create(filler))(t)
		for err := error(nil); err == nil; {
			_, err = file.Write(make([]byte, 4096))
		}
		file.Close()
	}
	fill()
	const full = "My disk is full, so I cannot save anything. Ask the bot's operator to make room."
	for i := 0; i < 100 && !strings.Contains(command(fmt.Sprintf("/remember tea number %d is good", i)), full); i++ {
	}
	for _, line := range []string{"/remember green tea is better", "/new", "/pin 1"} {
		check.Contains(t, line, command(line), full)
	}
	refused := ""
	for i := 0; i < 100 && refused == ""; i++ { // SQLite's reserved space may hold a few
		refused = l.saidTo(fmt.Sprint("full", i), "a")
	}
	check.Equal(t, "why a message is rejected", refused, full)
	check.NoError(t, os.Remove(filler))
	check.That(t, check.Soon(func() bool { return l.saidTo(fmt.Sprint("room", time.Now().UnixNano()), "a") == "" }), "no message is accepted again")
	l.end()
	p.must("/remember tea is green\n", "chat")
	fill()
	file := filepath.Join(small, "file")
	p.fails(exitFailed, "no space left on device", "memories", "export", file)
	p.fails(exitFailed, "file: the disk is full: make room: ", "backup", file)
	check.Error(t, check.ErrorOf(os.Stat(file)), fs.ErrNotExist) // else it is in the way of the next try
	p.fails(exitFailed, "the disk is full: make room", "context", "--data", data)
	const spare = 200 << 10 // enough to open the database, not for a copy of it
	check.NoError(t, os.Truncate(filler, check.Must(os.Stat(filler))(t).Size()-spare))
	doctor := p.run("", "doctor", "--data", data)
	check.Equal(t, "exit code of doctor", doctor.code, exitFailed)
	check.Contains(t, "doctor", doctor.out, "WRONG  data      not enough room on the disk: ", " MB and has 0 MB")
	check.NoError(t, os.Remove(filler))
	p.hasSoundData("--data", data)
}
