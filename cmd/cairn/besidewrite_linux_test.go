package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"cairn/store"
	"cairn/testkit/check"
)

// Changes of memories beside a bot print what they print alone, and the bot knows them.
func TestMemoriesChangeBesideABot(t *testing.T) {
	script := [][]string{
		{"forget", "1", "--json"},
		{"forget", "1"},
		{"restore", "1"},
		{"pin", "1"},
		{"unpin", "1"},
		{"forget", "77"},
		{"forget", "x"},
		{"purge", "2"},
		{"purge", "2", "--yes"},
		{"purge", "2", "--yes"},
		{"import", "memories.jsonl"},
		{"import", "memories.jsonl"},
		{"import", "wrong.jsonl"},
	}
	prepare := func() folder {
		p := newFolder(t)
		p.must("/remember Ada plays the cello\n/remember Bo plays the flute\n", "chat")
		p.write("memories.jsonl", `{"channel":"terminal:garden","kind":"fact","content":"Ada rows","said_at":"2023-05-08T13:56:00Z","speaker":"Ada"}`+"\n")
		p.write("wrong.jsonl", `{"channel":"terminal:garden","kind":"moon","content":"Ada rows","said_at":"2023-05-08T13:56:00Z"}`+"\n")
		return p
	}
	alone := prepare()
	p := prepare()
	l := p.bot()
	moments := func(text string) string {
		return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ',' }), "\n")
	}
	for _, args := range script {
		args = append([]string{"memories"}, args...)
		what := "cairn " + strings.Join(args, " ") + " beside a bot"
		want := alone.run("", args...)
		got := p.run("", args...)
		check.Equal(t, what+": exit code", got.code, want.code)
		if want.code != exitFailed { // the bot says in its own words why not
			check.Equal(t, what+": errors", got.err, want.err)
		}
		for i, line := range strings.Split(moments(want.out), "\n") {
			if !strings.Contains(line, `_at":`) {
				check.Equal(t, what, strings.Split(moments(got.out), "\n")[i], line)
			}
		}
	}
	known := l.ask(`{"text":"/memories","id":"1","channel":"general"}`, `"reply"`)
	check.Contains(t, "what the bot knows", known, "Ada plays the cello")
	check.Lacks(t, "what the bot knows", known, "Bo plays the flute")
	l.end()
	check.Contains(t, "memories", p.must("", "memories", "list"), "Ada rows")
	p.hasSoundData()
}

// An import beside a bot stores and summarizes what an import alone does, also if it is large, with the channels people talk in as they are.
func TestImportBesideABot(t *testing.T) {
	check.SkipUnderRace(t)
	p := importFolder(t)
	l := p.bot()
	import2 := []string{"import", "--channel", "past", "past.jsonl"}
	check.Equal(t, "output", p.must("", import2...), fmt.Sprintf("imported %d messages into past; 0 were already known\n", importedMessages))
	check.Equal(t, "a second import", p.must("", import2...), fmt.Sprintf("imported 0 messages into past; %d were already known\n", importedMessages))
	check.Contains(t, "what is found", p.must("", "recall", "--channel", "past", "town 1099"), "town 1099")
	l.ask(`{"text":"hello","id":"1","channel":"lobby"}`, `"reply"`)
	p.fails(exitInUse, "people have talked in the channel lobby: name another with --channel: the conversation is in use\n", "import", "--channel", "lobby", "past.jsonl")
	other := strings.Replace(strings.SplitAfter(p.read("past.jsonl"), "\n")[0], "town 0", "town 2000", 1)
	p.write("other.jsonl", other)
	p.fails(exitFailed, `cairn: an id names one message of a channel: "p0" already exists, by Ada, of 2025-03-01 10:00:00; nothing was imported: use other ids, or another channel with --channel`+"\n",
		"import", "--channel", "past", "other.jsonl")
	p.fails(exitUsage, "channels of the terminal", "import", "--channel", "discord:1/2", "past.jsonl")
	large := strings.Replace(other, "town 2000", strings.Repeat("a long story of the town. ", 100_000), 1)
	p.write("large.jsonl", large)
	check.HasPrefix(t, "a message of 2.6 MB", p.must("", "import", "--channel", "large", "large.jsonl"), "imported 1 message into large")
	l.end()
	check.Equal(t, "messages", p.count("SELECT count(*) FROM messages m JOIN conversations c ON m.id / 4294967296 = c.id WHERE c.name = 'terminal:past'"), importedMessages)
	p.hasSoundData()
}

// Several commands work at the same time: none is lost.
func TestCommandsBesideABotInParallel(t *testing.T) {
	check.SkipUnderRace(t)
	p := importFolder(t)
	p.must("/remember Ada plays the cello\n/remember Bo plays the flute\n", "chat", "--channel", "attic")
	l := p.bot()
	var all sync.WaitGroup
	var imported [2]string
	for i := range imported {
		all.Go(func() {
			cmd := p.command("import", "--channel", "past", "past.jsonl")
			text, err := cmd.CombinedOutput()
			check.That(t, err == nil, "import: %v, %s", err, text)
			imported[i] = string(text)
		})
	}
	for _, args := range [][]string{{"memories", "pin", "1"}, {"memories", "forget", "2"}, {"context", "--channel", "attic"}, {"purge", "--channel", "attic", "--dry-run"}, {"recall", "--channel", "attic", "flute"}} {
		all.Go(func() {
			text, err := p.command(args...).CombinedOutput()
			check.That(t, err == nil, "%q: %v, %s", args, err, text)
		})
	}
	l.ask(`{"text":"hello","id":"1","channel":"lobby"}`, `"reply"`)
	all.Wait()
	sum := 0
	for _, text := range imported {
		n := 0
		_, err := fmt.Sscanf(text, "imported %d message", &n)
		check.That(t, err == nil, "%q: %v", text, err)
		sum += n
	}
	check.Equal(t, "messages that the two imports stored", sum, importedMessages)
	p.must("", "purge", "--channel", "attic", "--yes")
	p.must("", "purge", "--channel", "lobby", "--yes")
	l.end()
	p.wantImported()
}

// The bot or the command is killed while it imports: the same command, or the bot, goes on, and nothing is lost or doubled.
func TestKillAnImportBesideABot(t *testing.T) {
	check.SkipUnderRace(t)
	skipIfShort(t, "it imports a thousand messages again and again")
	again := []string{"import", "--channel", "past", "past.jsonl"}
	const read = "UPDATE OF unread_from ON main.conversations"
	for _, s := range []struct {
		name  string
		death killStep // of the bot
	}{
		{"the second part is being stored", killStep{On: "INSERT ON main.messages", When: "new.seq = 1050", At: atRow}},
		{"the first part is stored", killStep{On: read, When: "old.unread_from = 0", At: after}},
		{"messages were read", killStep{On: read, When: "new.unread_from > 400", At: after}},
		{"a summary is stored", killStep{On: changes, When: "new.state = 'prepared' AND new.from_seq > 300", At: after}},
	} {
		t.Run("the bot: "+s.name, func(t *testing.T) {
			p := importFolder(t)
			dying := p
			dying.env = append(dying.env[:len(dying.env):len(dying.env)], s.death.env(t))
			l := dying.bot()
			p.fails(exitFailed, "the same command continues): the bot gave no answer at ", again...)
			l.killed()
			l = p.bot()
			check.HasPrefix(t, "output", p.must("", again...), "imported ")
			l.end()
			p.wantImported()
		})
	}
	t.Run("the command", func(t *testing.T) {
		p := importFolder(t)
		l := p.bot()
		command := p.start(again...)
		eventually(t, "messages are being summarized", l.errs.String, func() bool { return p.count("SELECT coalesce(max(unread_from), 0) FROM conversations") > 100 })
		command.signal(syscall.SIGKILL)
		command.killed()
		eventually(t, "the bot reads what is stored", l.errs.String, func() bool { return p.count("SELECT max(unread_from) FROM conversations") == 0 })
		check.HasPrefix(t, "output", p.must("", again...), "imported ")
		l.end()
		p.wantImported()
	})
	t.Run("Ctrl-C", func(t *testing.T) {
		p := importFolder(t)
		l := p.bot()
		command := p.start(again...)
		eventually(t, "messages are being summarized", l.errs.String, func() bool { return p.count("SELECT coalesce(max(unread_from), 0) FROM conversations") > 100 })
		command.signal(syscall.SIGINT)
		command.exits(130)
		check.Contains(t, "what it says", command.errs.String(), "stopped: ", " in past and can be searched")
		check.HasPrefix(t, "output", p.must("", again...), "imported ")
		l.end()
		p.wantImported()
	})
}

// TestPurgeBesideABot: the bot deletes, and has nothing left in its memory. Killed in between, the same command continues.
func TestPurgeBesideABot(t *testing.T) {
	check.SkipUnderRace(t)
	p := twoServers(t)
	l := p.bot()
	l.ask(`{"text":"the xylophone is mine","id":"1","channel":"general","user":"ada"}`, `"reply"`)
	out := p.must("", "purge", "--channel", "discord:1/10", "--yes", "--json")
	check.Equal(t, "output", out, `{"channels":[{"channel":"discord:1/10","messages":2,"memories":1}],"messages":2,"memories":1,"deleted":true}`+"\n")
	p.must("", "purge", "--server", "discord:2", "--yes")
	check.HasPrefix(t, "output", p.must("", "purge", "--user", "discord:7", "--yes"), "Deleted: 2 messages and 2 memories of Ada (discord:7)\n")
	p.refuses(exitNotFound, "purge", map[string]string{
		"--user Eve --yes": `"Eve": not found: no one with that id or name has messages here`, "--channel attic --yes": "terminal:attic: not found: known: ", "--server discord:3 --yes": "discord:3: not found: known: ",
	})
	p.refuses(exitUsage, "purge", map[string]string{"--channel general": "confirm with --yes"})
	check.Contains(t, "the history", p.read("data/history"), "xylophone")
	p.must("", "purge", "--channel", "general", "--yes")
	_, err := os.Stat(p.dir + "/data/history")
	check.That(t, os.IsNotExist(err), "the history is there: %v", err)
	check.Lacks(t, "what the bot finds", l.ask(`{"text":"/recall xylophone","id":"2","channel":"general","user":"ada"}`, `"reply"`), "mine", "gift")
	l.ask(`{"text":"good day","id":"3","channel":"general","user":"ada"}`, `"reply"`)
	check.Equal(t, "messages with the secret", p.count("SELECT count(*) FROM messages WHERE text LIKE '%xylophone is%' OR text LIKE '%xylophone of%'"), 0)
	l.end()
	p.hasSoundData()
}

// A bot that is killed in a deletion has deleted whole conversations; a person is deleted by the next start, or by the same command.
func TestKillAPurgeBesideABot(t *testing.T) {
	check.SkipUnderRace(t)
	for name, s := range map[string]struct {
		args  []string
		death killStep
	}{
		"a server":                        {[]string{"purge", "--server", "discord:1", "--yes"}, killStep{On: "DELETE ON main.messages", When: "old.id > 2 * 4294967296", At: atCommit}},
		"a person, before it is noted":    {[]string{"purge", "--user", "discord:7", "--yes"}, killStep{On: "INSERT ON main.erasures", At: atRow}},
		"a person, after it is noted":     {[]string{"purge", "--user", "discord:7", "--yes"}, killStep{On: "INSERT ON main.erasures", At: after}},
		"a person, after a first message": {[]string{"purge", "--user", "discord:7", "--yes"}, killStep{On: "DELETE ON main.erasures", At: after}},
	} {
		t.Run(name, func(t *testing.T) {
			p := twoServers(t)
			dying := p
			dying.env = append(dying.env[:len(dying.env):len(dying.env)], s.death.env(t))
			l := dying.bot()
			p.fails(exitFailed, "perhaps not everything is deleted; the same command continues: the bot gave no answer at ", s.args...)
			l.killed()
			l = p.bot()
			if r := p.run("", s.args...); r.code != exitNotFound { // all was deleted
				check.Equal(t, "exit code of the same command: "+r.err, r.code, 0)
			}
			l.end()
			left := p.count("SELECT count(*) FROM messages m JOIN conversations c ON m.id / 4294967296 = c.id WHERE c.name LIKE 'discord:1/%' AND text LIKE '%xylophone of%'")
			check.Equal(t, "messages with the secret", left, 0)
			p.hasSoundData()
		})
	}
}

// A command that is killed in a deletion has deleted whole conversations, and the same command deletes the rest.
func TestKillACommandThatPurges(t *testing.T) {
	check.SkipUnderRace(t)
	const channels = 300
	p := newFolder(t)
	db := p.store()
	for i := range channels {
		c := check.Must(db.Conversation(t.Context(), fmt.Sprintf("discord:1/%d", i)))(t)
		check.Must(c.Past().Import(t.Context(), []store.Inbound{{ID: "m1", AuthorID: "7", Author: "Ada", Text: "the xylophone is a gift"}}))(t)
	}
	check.NoError(t, db.Close())
	l := p.bot()
	left := func() int { return p.count("SELECT count(*) FROM messages WHERE text LIKE '%xylophone%'") }
	command := p.start("purge", "--server", "discord:1", "--yes")
	eventually(t, "the bot deletes", l.errs.String, func() bool { return left() < channels })
	_ = command.cmd.Process.Kill() // it may have ended
	_, _ = command.rest()
	p.must("", "purge", "--server", "discord:1", "--yes")
	check.Equal(t, "messages with the secret", left(), 0)
	l.end()
	p.hasSoundData()
}

// A bot without a terminal imports into a channel of the terminal.
func TestImportBesideRun(t *testing.T) {
	p := importFolder(t)
	settings := p.read("config.toml")
	p.write("config.toml", settings+fmt.Sprintf("\n[web]\nlisten = %q\n", freeAddress(t)))
	l := p.start("run")
	l.logs("web_listening")
	s := p.atScreen("import", "--channel", "past", "past.jsonl")
	check.Contains(t, "the screen", s.end(0), fmt.Sprintf(" of %d messages stored", importedMessages), fmt.Sprintf("imported %d messages into past; 0 were already known\n", importedMessages))
	l.stop()
	p.wantImported()
}
