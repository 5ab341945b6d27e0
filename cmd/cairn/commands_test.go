package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"cairn/internal/check"
	"cairn/store"
)

func TestUsage(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	p := newFolder(t)
	p.write("broken.toml", "[llm]\nmodle = 1")
	p.write("large.toml", strings.Repeat("#\n", (1<<20)/2+1))
	check.NoError(t, syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o600))
	for _, test := range []struct {
		name, args string
		code       int
		want       string // on the error stream
	}{
		{"an unknown command", "chta", exitUsage, `there is no command "chta", did you mean chat?`},
		{"an unknown command of a group", "memories lost", exitUsage, `did you mean list?`},
		{"an unknown flag", "chat --chanel x", exitUsage, "see `cairn chat --help`"},
		{"an argument too few", "import", exitUsage, "see `cairn import --help`"},
		{"a channel without a name", "chat --channel=", exitUsage, "the name of the channel is empty"},
		{"a channel of Discord", "chat --channel discord:1/2", exitUsage, "--channel discord:1/2: only channels of the terminal can be used here; name one without a prefix"},
		{"a log level that is none", "chat --log-level loud", exitUsage, "debug, info, warn or error"},
		{"a log level that is none, of a command without a log", "version --log-level loud", exitUsage, "debug, info, warn or error"},
		{"a settings file that is not there", "chat --config none.toml", exitUsage, "none.toml"},
		{"a settings file that is wrong", "chat --config broken.toml", exitUsage, "broken.toml:2: [llm]: modle: there is no such setting, did you mean model?"},
		{"settings that never end", "chat --config /dev/zero", exitUsage, "/dev/zero is not a regular file"},
		{"settings nobody writes", "chat --config pipe", exitUsage, "pipe is not a regular file"},
		{"settings that are very large", "chat --config large.toml", exitUsage, "large.toml is larger than 1 MB"},
		{"no connector to start", "run", exitUsage, "set DISCORD_TOKEN for Discord, or SLACK_BOT_TOKEN and SLACK_APP_TOKEN for Slack"},
		{"nothing to read", "transcript", exitNotFound, "talk to the bot first"},
		{"no such file to import", "import none.jsonl", exitNotFound, "open none.jsonl: no such file"},
		{"no such backup", "restore none.db", exitNotFound, "none.db: not found"},
		{"no folder for a backup", "backup none/b.db", exitNotFound, "talk to the bot first"},
		{"no such format", "import --format csv x", exitUsage, "must be jsonl"},
	} {
		r := p.run("", strings.Fields(test.args)...)
		check.Equal(t, test.name+": exit code", r.code, test.code)
		check.HasPrefix(t, test.name, r.err, "cairn: ")
		check.Contains(t, test.name, r.err, test.want)
		check.Equal(t, test.name+": output", r.out, "")
	}
	p.untouched()
	check.Contains(t, "output of --help", p.must("", "--help"), "Exit codes:", "Examples:")
	check.HasPrefix(t, "output of version", p.must("", "version"), "cairn ")
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	check.Equal(t, "output without a file", p.must("", "config", "check"), "ok: no settings file, the defaults\n")
	file := p.write("good.toml", "workers = 2")
	check.Equal(t, "output", p.must("", "config", "check", file), "ok: good.toml\n  workers\n")
	check.Equal(t, "output", p.must("", "config", "check", "--json", "--config", file), `{"ok":true,"file":"good.toml","changed":["workers"],"faults":[]}`+"\n")
	r := p.run("", "config", "check", p.write("bad.toml", "\nworkers = 0"), "--json")
	check.Equal(t, "exit code", r.code, exitUsage)
	check.Equal(t, "output", r.out, `{"ok":false,"file":"bad.toml","changed":[],"faults":[{"line":2,"table":"","text":"workers = 0: must be from 1 to 64"}]}`+"\n")
	check.Equal(t, "errors", r.err, "cairn: bad.toml:2: workers = 0: must be from 1 to 64\n")
}

func TestConfigExplain(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.write("config.toml", "[defaults.compaction]\nbackground_threshold = 0.7\n\n[[agents]]\nid = \"small\"\ncontext_window = 8000\nmax_output_tokens = 500\n")
	all := parse[[]struct {
		Agent    string
		Settings []struct {
			Key, Value, Origin, Moves string
			Tokens                    int
		}
	}](t, p.must("", "config", "check", "--explain", "--json"))[0]
	check.Require(t, len(all) == 1 && all[0].Agent == "small", "agents %+v", all)
	want := map[string]string{
		"context_window": "8000 config.toml:6", "background_threshold": "5600 config.toml:2", "prepare_threshold": "4200 default",
		"emergency_threshold": "7600 default", "max_output_tokens": "500 config.toml:7", "tail_tokens": "2000 default", "stack_budget": "1200 default",
	}
	last := all[0].Settings[0].Tokens
	for _, s := range all[0].Settings {
		check.That(t, s.Tokens <= last, "got %s, of %d tokens, after one of %d", s.Key, s.Tokens, last)
		last = s.Tokens
		if text, known := want[s.Key]; known {
			check.Equal(t, s.Key, fmt.Sprintf("%d %s", s.Tokens, s.Origin), text)
			delete(want, s.Key)
		}
		if s.Key == "background_threshold" {
			check.Contains(t, "effect of background_threshold", s.Moves, "prepare_threshold follows: 0.45 at 0.6")
		}
	}
	check.Equal(t, "settings that are missing", len(want), 0)
	check.Contains(t, "the table", p.must("", "config", "check", "--explain"), "background_threshold affects")
	p.fails(exitUsage, "", "config", "check", "--channel", "x")
}

func TestChannels(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.must("", "import", p.write("none.jsonl", ""))
	r := p.run("", "channels")
	check.Equal(t, "channels of an empty folder", r.out+r.err, "no conversations yet\n")
	p.must("", "import", "--channel", "garden", p.write("past.jsonl", `{"id":"1","author":"Ada","time":"2026-05-01T10:00:00Z","text":"The plums are ripe"}
{"id":"2","author":"Bob","time":"2026-05-03T10:00:00Z","text":"I will pick them"}
`))
	for command, want := range map[string]string{"recall plums": "The plums are ripe", "transcript": "The plums are ripe", "context": "2 in total"} {
		check.Contains(t, command+" of the only conversation", p.must("", strings.Fields(command)...), want)
	}
	p.must("", "import", "--channel", "kitchen", p.write("more.jsonl", `{"id":"1","author":"Ada","time":"2026-06-01T10:00:00Z","text":"Jam"}`+"\n"))
	c := check.Must(p.store().Conversation(t.Context(), "discord:9/20"))(t)
	check.Must(c.Inbox().Deliver(t.Context(), store.Inbound{ID: "1", AuthorID: "1", Author: "Ada", Text: "hello", Label: "#plaza · \x1b[31mCozy Corner"}))(t)
	form := regexp.MustCompile(`terminal:kitchen +1  2026-06-01 .*\nterminal:garden +2  2026-05-03 (.|\n)*discord:9/20 .*  #plaza · \[31mCozy Corner\n`)
	out := p.must("", "channels")
	check.That(t, form.MatchString(out), "got the channels, the newest first:\n%s", out)
	check.Contains(t, "output for a program", p.must("", "channels", "--json"),
		`{"channel":"terminal:kitchen","messages":1,`, `"messages":2,"last":"2026-05-03T10:00:00Z"`, `"channel":"discord:9/20","name":"#plaza · `)
	r = p.run("", "recall", "plums")
	check.Contains(t, "errors without a channel", r.err, "name one with --channel: known: ", "terminal:kitchen", "garden")
	check.Contains(t, "output", p.must("", "recall", "--channel", "garden", "plums"), "The plums are ripe")
}
