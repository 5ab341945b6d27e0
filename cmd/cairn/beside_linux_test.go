package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// besideFolder has a conversation of many messages, summaries, memories and usage.
func besideFolder(t *testing.T, server *llmtest.Server) folder {
	t.Helper()
	p := newFolder(t)
	writeServerSettings(p, server)
	return p
}

// bot starts a bot that others reach through its socket.
func (p folder) bot() *live {
	p.t.Helper()
	l := p.start("chat", "--json", "--channel", "lobby")
	l.ask(`{"text":"/help","id":"here"}`, `"reply"`)
	return l
}

// besideServer is a model server with prices and a window.
func besideServer(t *testing.T) *llmtest.Server {
	t.Helper()
	return llmtest.Serve(t, func(x *llmtest.Exchange) {
		if isWorker(x) {
			x.Use("s", "summarize", `{"summary":"They told stories about the garden and the gate."}`)
			return
		}
		x.Say("Let us see.")
	})
}

// Each command prints beside a bot what it prints alone.
func TestCommandsBesideABot(t *testing.T) {
	check.SkipUnderRace(t)
	p := besideFolder(t, besideServer(t))
	p.must("I decided to buy bread for the party.\n/remember Ada prefers green tea\nWhere is the *gate*?\nIt is \u00e9l\u00e9gant & <b>green</b>\n", "chat", "--channel", "garden")
	p.must("Hello from the attic.\n/remember Bo plays the flute\n", "chat", "--channel", "attic")
	commands := [][]string{
		{"channels"},
		{"channels", "--json"},
		{"context", "--channel", "garden"},
		{"context", "--channel", "garden", "--json"},
		{"context", "--channel", "nowhere"},
		{"context"},
		{"usage"},
		{"usage", "--json"},
		{"usage", "--by", "model"},
		{"usage", "--by", "conversation", "--since", "7d", "--json"},
		{"usage", "--since", "2001-01-01", "--json"},
		{"usage", "--since", "soon"},
		{"transcript", "--channel", "garden", "--json"},
		{"compactions", "--json"},
		{"memories", "list", "--json"},
		{"memories", "search", "tea"},
		{"memories", "search", "tea", "--json"},
		{"memories", "search", "tea", "--csv"},
		{"memories", "search", "flute", "--channel", "attic"},
		{"memories", "search", "flute", "--channel", "nowhere"},
		{"memories", "search", "plays", "--limit", "1", "--offset", "3"},
		{"memories", "search", "tea", "--since", "yesterday", "--until", "2099-01", "--kind", "preference", "--about", "Ada", "--sort", "importance"},
		{"memories", "search", "xylophone"},
		{"memories", "search", "tea", "--since", "soon"},
		{"memories", "show", "1", "--json"},
		{"memories", "show", "99"},
		{"memories", "stats", "--json"},
		{"memories", "export"},
		{"recall", "--channel", "garden", "tea"},
		{"recall", "--channel", "garden", "--json", "where is the gate?"},
		{"recall", "--channel", "garden", "--explain", "gate"},
		{"recall", "--channel", "garden", "--json", "--by", "Ada", "--since", "yesterday", "--limit", "1"},
		{"recall", "--channel", "garden", "--by", "Eve"},
		{"recall", "--channel", "garden", "--by", "Eve", "tea"},
		{"recall", "--channel", "garden", "--kind", "preference", "--json", "tea"},
		{"recall", "--channel", "nowhere", "tea"},
		{"recall", "--channel", "garden", "--order", "oldest", "--json", "--as", "Ada", "my tea"},
		{"recall", "--channel", "garden", "xylophone"},
		{"recall", "tea"},
		{"models"},
		{"models", "--json"},
		{"purge", "--channel", "garden", "--dry-run"},
		{"purge", "--user", "Ada", "--dry-run", "--json"},
		{"purge", "--user", "Eve", "--dry-run"},
		{"purge", "--channel", "nowhere", "--dry-run"},
		{"purge", "--server", "discord:1", "--dry-run"},
	}
	var alone []result
	for _, args := range commands {
		alone = append(alone, p.run("", args...))
	}
	l := p.bot()
	for i, args := range commands {
		what := "cairn " + strings.Join(args, " ") + " beside a bot"
		beside := p.run("", args...)
		check.Equal(t, what+": exit code", beside.code, alone[i].code)
		check.Equal(t, what+": output", timeless(beside.out), timeless(alone[i].out))
		check.Equal(t, what+": errors", timeless(beside.err), timeless(alone[i].err))
	}
	l.end()
}

// changing matches what a score owes to the time since, and what errors say of where they arose.
var changing = regexp.MustCompile(`"score":[0-9.]+|"age","value":[-0-9.e]+|recall of terminal:garden: |by: |\.\n$|\n$`)

func timeless(text string) string { return changing.ReplaceAllString(text, "") }

// The bot has a model and settings that the shell does not have.
func TestCommandsShowTheBotsModel(t *testing.T) {
	server := besideServer(t)
	p := newFolder(t)
	bot := p
	bot.env = []string{"OPENAI_BASE_URL=" + server.URL, "OPENAI_MODEL=test-model"}
	p.write("bot.toml", "[prices]\n\"test-model\" = {input = 1000, output = 1000}\n[[agents]]\nid = \"gardener\"\ncontext_window = 54321\n")
	l := bot.start("chat", "--json", "--channel", "lobby", "--config", "bot.toml")
	l.ask(`{"text":"hello","id":"1"}`, `"reply"`)
	now := p.must("", "context", "--json")
	check.Contains(t, "context", now, `"model":"test-model"`, `"max_tokens":54321`, `"agent":"gardener"`)
	check.Contains(t, "models", p.must("", "models"), "test-model", server.URL, "agent gardener")
	check.Lacks(t, "usage", p.must("", "usage", "--by", "model"), "no price")
	l.end()
	check.Lacks(t, "context without the bot", p.must("", "context", "--json"), "gardener")
	p.fails(exitUsage, "no server is configured", "models")
}

// A bot that cannot be used is not mistaken for none.
func TestWordsBesideABot(t *testing.T) {
	p := newFolder(t)
	p.must("I like tea\n/remember Ada plays the cello\n", "chat")
	socket := filepath.Join(p.dir, "data", socketName)
	listen := func(answer func(conn net.Conn)) (end func()) {
		t.Helper()
		_ = os.Remove(socket)
		listener := check.Must(net.Listen("unix", socket))(t)
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go answer(conn)
			}
		}()
		return func() { check.NoError(t, listener.Close()) }
	}
	end := listen(func(conn net.Conn) {
		buffer := make([]byte, 4096)
		_, _ = conn.Read(buffer)
		const text = `{"title":"Not Found","status":404,"detail":"There is nothing at this path."}`
		fmt.Fprintf(conn, "HTTP/1.1 404 Not Found\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(text), text)
		_ = conn.Close()
	})
	p.fails(exitFailed, "of another version than this command: restart it", "memories", "forget", "1")
	end()
	end = listen(func(net.Conn) {}) // a bot that is stopped
	p.answerWithin = 50 * time.Millisecond
	p.fails(exitFailed, "the bot gave no answer at ", "context")
	p.fails(exitFailed, "is it stopped, or very busy?", "purge", "--user", "Ada", "--yes")
	end()
	end = listen(func(conn net.Conn) { _ = conn.Close() })
	p.fails(exitFailed, "it stopped, or was killed", "memories", "pin", "1")
	end()
	file := check.Must(net.ListenUnix("unix", &net.UnixAddr{Name: socket}))(t)
	file.SetUnlinkOnClose(false)
	check.NoError(t, file.Close()) // as a bot that was killed leaves it
	check.Contains(t, "beside a stale socket", p.must("", "memories", "pin", "1"), "Pinned: ")
	check.Contains(t, "beside a stale socket", p.must("", "memories", "search", "cello"), "Ada plays the cello")
	code, out := p.asNobody("", "memories", "search", "cello")
	check.That(t, code == 0, "exit code %d: %s", code, out)
	check.Contains(t, "as another user", out, "belongs to a bot of another user: run this as that user", "this is what the database has, with the settings of this shell", "Ada plays the cello")

	l := p.bot()
	code, out = p.asNobody("", "memories", "forget", "1")
	check.Equal(t, "exit code of a change as another user", code, exitFailed)
	check.Contains(t, "a change as another user", out, "belongs to a bot of another user: run this as that user")
	l.end()
}

// A bot without its socket is found at the address of [web], unless it works on another database.
func TestCommandsBesideABotAtAnAddress(t *testing.T) {
	p := newFolder(t, "CAIRN_WEB_TOKEN=a-long-secret-token")
	p.write("config.toml", fmt.Sprintf("[web]\nlisten = %q\n", freeAddress(t)))
	bot := p
	server := besideServer(t)
	bot.env = append(bot.env[:1:1], "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=test-model")
	l := bot.bot()
	l.ask(`{"text":"/remember Ada plays the cello","id":"1"}`, `"reply"`)
	check.NoError(t, os.Remove(filepath.Join(p.dir, "data", socketName)))
	check.Contains(t, "models", p.must("", "models"), "test-model")
	check.Contains(t, "a change", p.must("", "memories", "pin", "1"), "Pinned: ")
	p.write("past.jsonl", recorded(5))
	check.HasPrefix(t, "an import", p.must("", "import", "--channel", "past", "past.jsonl"), "imported 5 messages")

	other := p
	other.env = []string{"CAIRN_WEB_TOKEN=another-long-secret"}
	other.fails(exitUsage, "rejects the token: set CAIRN_WEB_TOKEN", "purge", "--user", "Ada", "--yes")
	r := other.fails(0, "rejects the token: set CAIRN_WEB_TOKEN, or token under [web]; this is what the database has", "memories", "search", "cello")
	check.Contains(t, "what the database has", r.out, "Ada plays the cello")

	p.must("/remember Bo plays the flute\n", "chat", "--data", "elsewhere", "--config", p.write("empty.toml", ""))
	check.Contains(t, "a change in another folder", p.must("", "memories", "forget", "1", "--data", "elsewhere"), "Bo plays the flute")
	p.fails(exitUsage, "no server is configured", "models", "--data", "elsewhere")
	p.fails(exitNotFound, "no data", "purge", "--user", "Ada", "--yes", "--data", "misspelt")
	lost := p
	lost.dir = t.TempDir() // as on another machine
	lost.write("config.toml", p.read("config.toml"))
	check.Contains(t, "without the database", lost.must("", "context", "--channel", "lobby"), "test-model")
	lost.fails(exitNotFound, "no data", "purge", "--channel", "lobby", "--yes") // the folder beside it may be another bot's
	l.end()
	check.Equal(t, "memories", p.count("SELECT count(*) FROM memories WHERE state = 'active'"), 1)
}

// The bot searches by meaning, although the shell knows no server of embeddings.
func TestRecallBesideABotWithEmbeddings(t *testing.T) {
	server := llmtest.ServeEmbeddings(t, llmtest.Embeddings{Length: 512, Same: map[string]string{"automobile": "car", "purchased": "bought"}})
	p := newFolder(t)
	p.write("bot.toml", noBackups+"\n"+fmt.Sprintf("[embeddings]\nbase_url = %q\nmodel = \"test-embedding\"", server.URL))
	l := p.start("chat", "--json", "--config", "bot.toml")
	for _, text := range []string{"we went to the lake and swam", "last spring I bought a red car in Riga", "the soup was far too salty"} {
		l.ask(fmt.Sprintf(`{"text":%q}`, text), `"type":"reply"`)
	}
	eventually(t, "there are vectors", l.errs.String, func() bool { return p.count("SELECT count(*) FROM message_vectors WHERE vector <> x''") >= 3 })
	check.Contains(t, "beside the bot", p.must("", "recall", "who purchased an automobile", "--explain"), "red car in Riga", "meaning")
	l.end()
	check.Lacks(t, "alone", p.must("", "recall", "who purchased an automobile", "--explain"), "meaning")
}

// The processes of a bot share a database: the one beside the command may not be the one that owns a conversation.
func TestCommandsBesideOneOfTwoProcesses(t *testing.T) {
	check.SkipUnderRace(t)
	p, _ := startPair(t)
	p.sayOnBoth("one")
	p.answeredOnce(p.first, "one")
	shell := p.folder // that of the second process, which owns nothing
	name := first(t, `(discord:[0-9]+/[0-9]+)`, shell.must("", "channels"))
	check.Contains(t, "context of a conversation of the other process", shell.must("", "context", "--json", "--channel", name), `"calls":`, `"messages":2`)
	shell.write("past.jsonl", recorded(60))
	check.HasPrefix(t, "an import", shell.must("", "import", "--channel", "past", "past.jsonl"), "imported 60 messages")
	check.Contains(t, "a search", shell.must("", "recall", "--channel", "past", "party"), "party")
	check.HasPrefix(t, "a deletion", shell.must("", "purge", "--channel", name, "--yes"), "Deleted: 2 messages")
	p.sayOnDiscord("two")
	p.wait(p.first, p.onDiscord, "Answer: two")
	text := shell.must("", "transcript", "--channel", name)
	check.Contains(t, "what is there after the deletion", text, "two")
	check.Lacks(t, "what is there after the deletion", text, "one")
	p.first.stop()
	p.second.stop()
}

// Without conversations, the words are the same, too.
func TestCommandsBesideAnEmptyBot(t *testing.T) {
	p := newFolder(t)
	p.write("config.toml", fmt.Sprintf("[web]\nlisten = %q\n", freeAddress(t)))
	l := p.start("run")
	l.logs("web_listening")
	commands := [][]string{{"context"}, {"recall", "tea"}, {"usage"}, {"memories", "search", "tea"}, {"channels"}, {"memories", "pin", "1"}, {"purge", "--channel", "x", "--yes"}}
	var beside []result
	for _, args := range commands {
		beside = append(beside, p.run("", args...))
	}
	l.stop()
	for i, args := range commands {
		check.Equal(t, "cairn "+strings.Join(args, " ")+" beside a bot", beside[i], p.run("", args...))
	}
}
