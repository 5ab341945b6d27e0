package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cairn/chat"
	"cairn/internal/check"
)

func TestUsage(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	p := newFolder(t)
	p.write("broken.toml", "[llm]\nmodle = 1")
	p.write("large.toml", strings.Repeat("#\n", (1<<20)/2+1))
	check.NoError(t, syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o600))
	for _, test := range []struct {
		name string
		args []string
		code int
		want string // on the error stream
	}{
		{"an unknown command", []string{"chta"}, exitUsage, `there is no command "chta", did you mean chat?`},
		{"an unknown command of a group", []string{"memories", "lost"}, exitUsage, `did you mean list?`},
		{"an unknown flag", []string{"chat", "--chanel", "x"}, exitUsage, "see `cairn chat --help`"},
		{"an argument too few", []string{"import"}, exitUsage, "see `cairn import --help`"},
		{"a channel without a name", []string{"chat", "--channel", " "}, exitUsage, "the name of the channel is empty"},
		{"a channel of Discord", []string{"chat", "--channel", "discord:1/2"}, exitUsage, "--channel discord:1/2: only channels of the terminal can be used here; name one without a prefix"},
		{"a log level that is none", []string{"chat", "--log-level", "loud"}, exitUsage, "debug, info, warn or error"},
		{"a log level that is none, of a command without a log", []string{"version", "--log-level", "loud"}, exitUsage, "debug, info, warn or error"},
		{"a settings file that is not there", []string{"chat", "--config", "none.toml"}, exitUsage, "none.toml"},
		{"a settings file that is wrong", []string{"chat", "--config", "broken.toml"}, exitUsage, "broken.toml:2: [llm]: modle: there is no such setting, did you mean model?"},
		{"settings that never end", []string{"chat", "--config", "/dev/zero"}, exitUsage, "/dev/zero is not a regular file"},
		{"settings nobody writes", []string{"chat", "--config", "pipe"}, exitUsage, "pipe is not a regular file"},
		{"settings that are very large", []string{"chat", "--config", "large.toml"}, exitUsage, "large.toml is larger than 1 MB"},
		{"no connector to start", []string{"run"}, exitUsage, "set DISCORD_TOKEN for Discord, or SLACK_BOT_TOKEN and SLACK_APP_TOKEN for Slack"},
		{"nothing to read", []string{"transcript"}, exitNotFound, "talk to the bot first"},
		{"no such file to import", []string{"import", "none.jsonl"}, exitNotFound, "open none.jsonl: no such file"},
		{"no such backup", []string{"restore", "none.db"}, exitNotFound, "none.db: not found"},
		{"no folder for a backup", []string{"backup", "none/b.db"}, exitNotFound, "talk to the bot first"},
		{"no such format", []string{"import", "--format", "csv", "x"}, exitUsage, "must be jsonl"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := p.run("", test.args...)
			if r.code != test.code || !strings.HasPrefix(r.err, "cairn: ") || !strings.Contains(r.err, test.want) || r.out != "" {
				t.Errorf("exit code %d, output %q, errors %q", r.code, r.out, r.err)
			}
		})
	}
	t.Run("a mistake leaves no data folder behind", func(t *testing.T) {
		if _, err := os.Stat(filepath.Join(p.dir, "data")); err == nil {
			t.Error("there is a data folder, want none")
		}
	})
	t.Run("help names the exit codes and examples", func(t *testing.T) {
		check.Contains(t, "output of --help", p.must("", "--help"), "Exit codes:", "Examples:")
	})
	t.Run("version prints the version", func(t *testing.T) {
		check.HasPrefix(t, "output of version", p.must("", "version"), "cairn ")
	})
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	t.Run("without a file", func(t *testing.T) {
		check.Equal(t, "output", p.must("", "config", "check"), "ok: no settings file, the defaults\n")
	})
	file := p.write("good.toml", "workers = 2")
	t.Run("what differs is shown", func(t *testing.T) {
		check.Equal(t, "output", p.must("", "config", "check", file), "ok: good.toml\n  workers\n")
		want := `{"ok":true,"file":"good.toml","changed":["workers"],"faults":[]}` + "\n"
		check.Equal(t, "output", p.must("", "config", "check", "--json", "--config", file), want)
	})
	t.Run("errors are printed for people and programs", func(t *testing.T) {
		r := p.run("", "config", "check", p.write("bad.toml", "\nworkers = 0"), "--json")
		want := `{"ok":false,"file":"bad.toml","changed":[],"faults":[{"line":2,"table":"","text":"workers = 0: must be from 1 to 64"}]}` + "\n"
		check.Equal(t, "exit code", r.code, exitUsage)
		check.Equal(t, "output", r.out, want)
		check.Equal(t, "errors", r.err, "cairn: bad.toml:2: workers = 0: must be from 1 to 64\n")
	})
}

// messagesOf reads a transcript's messages.
func messagesOf(t *testing.T, out string) []chat.Record {
	t.Helper()
	return slices.DeleteFunc(parse[chat.Record](t, out), func(r chat.Record) bool { return r.Seq == 0 })
}

// past is a recorded conversation of n messages.
func past(n int) string {
	var b strings.Builder
	for i := range n {
		name, food := []string{"Ada", "Bo"}[i%2], []string{"tea", "bread", "rice"}[i%3]
		fmt.Fprintf(&b, `{"id":"p%d","time":"2025-03-%02dT10:%02d:00Z","author":%q,"text":"I decided to buy %s for day %d, because the garden party needs it and nobody else wanted to go."}`+"\n",
			i, 1+i/60, i%60, name, food, i)
	}
	return b.String()
}

func TestImport(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	p := newFolder(t)
	p.write("config.toml", "[[agents]]\nid = \"small\"\ncontext_window = 4000\nmax_output_tokens = 300")
	p.write("a.jsonl", past(200))
	p.write("b.jsonl", strings.ReplaceAll(past(3), `"id":"p`, `"id":"q`))

	t.Run("everything is imported, and the window is not overfull", func(t *testing.T) {
		out := p.must("", "import", "--channel", "past", "a.jsonl", "b.jsonl")
		check.That(t, strings.HasPrefix(out, "imported 203 messages into past; 0 were known already\n"), "got %q", out)
		rows := messagesOf(t, p.must("", "transcript", "--channel", "past", "--json"))
		if len(rows) != 203 || rows[0].ID != "p0" || rows[202].ID != "q2" || rows[0].Author != "Ada" || rows[0].Time.Year() != 2025 {
			t.Errorf("got %d messages, first %+v", len(rows), rows[0])
		}
		gauge := parse[struct {
			Max  int     `json:"max_tokens"`
			Pct  float64 `json:"used_pct"`
			Msgs int     `json:"messages"`
			Verb int     `json:"verbatim"`
			List []struct {
				From int64 `json:"from_seq"`
				To   int64 `json:"to_seq"`
			} `json:"stack"`
		}](t, p.must("", "context", "--channel", "past", "--json"))[0]
		if gauge.Max != 4000 || gauge.Pct > 95 || gauge.Msgs != 203 || len(gauge.List) == 0 || gauge.List[0].From != 1 {
			t.Errorf("got %+v", gauge)
		}
		check.Contains(t, "output", p.must("", "context", "--channel", "past"), "of 4000 tokens")
	})
	t.Run("the transcript tells where messages were summarized", func(t *testing.T) {
		said, lines := int64(0), 0
		out := p.must("", "transcript", "--channel", "past", "--json")
		rows := parse[chat.Record](t, out)
		for i, line := range parse[appliedLine](t, out) {
			if rows[i].Seq > 0 {
				said = rows[i].Seq
				continue
			}
			lines++
			last := line.Compacted[len(line.Compacted)-1]
			// It waits for the summaries, so no message came between.
			if last.To > said || last.Messages == 0 || last.ID == 0 || line.Before <= line.After || line.After == 0 || line.Time.Year() < 2026 {
				t.Errorf("after message %d: got %+v", said, line)
			}
		}
		check.That(t, lines >= 3 && said == 203, "got %d applied compactions and %d messages", lines, said)
		text := p.must("", "transcript", "--channel", "past")
		if n := strings.Count(text, "  compacted "); n != lines || !regexp.MustCompile(`(?m)^--  \S+ \S+  compacted \d+→\d+ tokens: #1 to #\d+, \d+ messages \(leaf \d+ by extractive, `).MatchString(text) {
			t.Errorf("got %d lines of applied compactions:\n%.3000s", n, text)
		}
	})
	t.Run("a second import changes nothing", func(t *testing.T) {
		out := p.must("", "import", "--channel", "past", "a.jsonl")
		check.Equal(t, "output", out, "imported 0 messages into past; 200 were known already\n")
	})
	t.Run("a channel people talk in is refused with a hint", func(t *testing.T) {
		p.must("hello\n", "chat")
		p.fails(exitInUse, "name another with --channel: the conversation is in use\n", "import", "b.jsonl")
		if rows := parse[chat.Record](t, p.must("", "transcript", "--json")); len(rows) > 5 || rows[0].Text != "hello" {
			t.Errorf("got %d messages, first %q", len(rows), rows[0].Text)
		}
	})
	t.Run("memories were made, with their messages, and one can be forgotten", func(t *testing.T) { importedMemories(t, p) })
}

func importedMemories(t *testing.T, p folder) {
	for _, m := range parse[kept](t, p.must("", "memories", "list", "--channel", "past", "--kind", "decision", "--json")) {
		check.Equal(t, "kind", m.Kind, "decision")
	}
	found := parse[kept](t, p.must("", "memories", "search", "bread", "--json", "--limit", "5"))
	if len(found) == 0 || !strings.Contains(found[0].Content, "bread") || found[0].Channel != "terminal:past" {
		t.Fatalf("got %+v", found)
	}
	id := fmt.Sprint(found[0].ID)
	shown := parse[kept](t, p.must("", "memories", "show", id, "--json"))[0]
	if shown.ID != found[0].ID || len(shown.Messages) == 0 || !strings.Contains(shown.Messages[0].Text, "bread") {
		t.Errorf("got %+v", shown)
	}
	p.must("", "memories", "forget", id)
	for _, m := range parse[kept](t, p.must("", "memories", "search", "bread", "--json", "--limit", "1000")) {
		check.That(t, m.ID != found[0].ID, "found after it was forgotten")
	}
}

func TestImportMistakes(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	good := `{"id":"1","time":"2025-03-01T10:00:00Z","author":"Ada","text":"hello"}` + "\n"
	for _, test := range []struct{ name, text, want string }{
		{"no JSON", good + "hello", "past.jsonl:2: this is not a JSON object"},
		{"a list", "[]", "past.jsonl:1: a line must be one JSON object"},
		{"no id", `{"time":"2025-03-01T10:00:00Z","author":"Ada","text":"hello"}`, `past.jsonl:1: "id" is missing`},
		{"no author", `{"id":"1","time":"2025-03-01T10:00:00Z","text":"hello"}`, `past.jsonl:1: "author" is missing`},
		{"no time", `{"id":"1","author":"Ada","text":"hello"}`, `past.jsonl:1: "time" is missing`},
		{"a time that is none", `{"id":"1","time":"May","author":"Ada","text":"hello"}`, `past.jsonl:1: a time must look like "2023-05-08T13:56:00Z": `},
		{"no text", `{"id":"1","time":"2025-03-01T10:00:00Z","author":"Ada"}`, `past.jsonl:1: "text" is missing, and there are no attachments`},
		{"a wrong type", `{"id":1}`, `past.jsonl:1: "id" must not be a JSON number`},
		{"an id of two messages", good + "\n" + strings.Replace(good, "hello", "bye", 1), `past.jsonl:3: the id "1" names another message in past.jsonl:1`},
		{"a line that is too long", `{"id":"` + strings.Repeat("x", maxRecord), `past.jsonl:1: `},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newFolder(t)
			p.fails(exitFailed, test.want, "import", p.write("past.jsonl", test.text))
			if _, err := os.Stat(filepath.Join(p.dir, "data")); err == nil {
				t.Error("there is a data folder, want none")
			}
		})
	}
	t.Run("a message that comes twice is imported once, and a byte order mark is no mistake", func(t *testing.T) {
		p := newFolder(t)
		again := strings.Replace(good, "10:00:00Z", "12:00:00+02:00", 1) // the same moment
		out := p.must("", "import", p.write("a.jsonl", "\ufeff"+good+good), p.write("b.jsonl", "\ufeff"+again))
		check.Equal(t, "output", out, "imported 1 message into general; 2 were known already\n")
	})
	t.Run("an id of another message that already exists", func(t *testing.T) {
		p := newFolder(t)
		file := p.write("a.jsonl", good)
		p.must("", "import", file)
		for _, other := range []string{strings.Replace(good, "hello", "bye", 1), strings.Replace(good, "Ada", "Bo", 1), strings.Replace(good, "10:00", "11:00", 1)} {
			fresh := strings.Replace(good, `"1"`, `"2"`, 1)
			p.fails(exitFailed, `cairn: an id names one message of a channel: "1" already exists, by Ada, of 2025-03-01 10:00:00; nothing was imported`, "import", p.write("b.jsonl", fresh+other))
		}
		check.HasPrefix(t, "output", p.must("", "import", file), "imported 0 messages")
		check.Len(t, "messages", parse[struct{ Text string }](t, p.must("", "transcript", "--json")), 1)
		check.HasPrefix(t, "output", p.must("", "import", "--channel", "other", p.write("b.jsonl", strings.Replace(good, "hello", "bye", 1))), "imported 1 message")
	})
	t.Run("a channel of another connector", func(t *testing.T) {
		p := newFolder(t)
		for _, name := range []string{"discord:1/2", "web:general", "task:terminal:general/1"} {
			p.fails(exitUsage, "channels of the terminal", "import", "--channel", name, p.write("a.jsonl", good))
		}
	})
}
