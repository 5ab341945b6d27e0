package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/llm/llmtest"
)

func TestChatWithoutSettings(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	check.Contains(t, "output", p.must("My name is Ada and I prefer tea.\nWhat do I prefer?\n", "chat"), "I prefer tea.")
	t.Run("only the owner can read the data", func(t *testing.T) {
		for name, want := range map[string]os.FileMode{"data": 0o700, "data/cairn.db": 0o600, "data/cairn.lock": 0o600} {
			info := check.Must(os.Stat(filepath.Join(p.dir, name)))(t)
			check.Equal(t, name, info.Mode().Perm(), want)
		}
	})
	t.Run("--data and data_dir name another folder", func(t *testing.T) {
		file := p.write("other.toml", `data_dir = "elsewhere"`)
		p.must("hello\n", "chat", "--config", file)
		p.must("hello\n", "chat", "--config", file, "--data", "third")
		for _, name := range []string{"elsewhere/cairn.db", "third/cairn.db"} {
			check.NoError(t, check.ErrorOf(os.Stat(filepath.Join(p.dir, name))))
		}
	})
}

func TestUnwritableOutput(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no device that is always full here: ", err)
	}
	defer full.Close()
	for _, test := range []struct{ name, input, answer string }{
		{"lines", "I like tea\n", "as message #1."},
		{"JSON", `{"text":"I like tea","id":"1"}` + "\n", `"to":["1"]`},
	} {
		t.Run(test.name+" end with exit code 1, and what was not said comes at the next start", func(t *testing.T) {
			p := newFolder(t)
			args := []string{"chat"}
			if test.name == "JSON" {
				args = append(args, "--json")
			}
			cmd := p.command(args...)
			var errs strings.Builder
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(test.input), full, &errs
			check.NoError(t, cmd.Start())
			guard := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			defer guard.Stop()
			_ = cmd.Wait() // the exit code shows it
			check.Equal(t, "exit code", cmd.ProcessState.ExitCode(), exitFailed)
			check.Equal(t, "error lines", strings.Count(errs.String(), "cairn: "), 1)
			check.Contains(t, "errors", errs.String(), "no space left on device")
			check.Contains(t, "output of the next start", p.must("", args...), test.answer)
		})
	}
}

func TestChatJSON(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	t.Run("bad lines change nothing and the end is awaited", func(t *testing.T) {
		out := p.must(`{"text":"I like tea","id":"1"}
nonsense
{"text":"/context","id":"2"}
{"text":"I like tea","id":"1"}
`, "chat", "--json")
		var kinds []string
		for _, line := range parse[struct{ Type string }](t, out) {
			kinds = append(kinds, line.Type)
		}
		if got := strings.Join(kinds, " "); strings.Count(got, "accepted") != 2 || strings.Count(got, "reply") != 2 || strings.Count(got, "error") != 1 {
			t.Errorf("got %s", got)
		}
	})
	t.Run("an id is known after a restart too", func(t *testing.T) {
		out := p.must(`{"text":"I like tea","id":"1"}`+"\n", "chat", "--json")
		check.Equal(t, "output", out, `{"type":"accepted","channel":"general","id":"1","seq":1}`+"\n")
	})
	t.Run("SIGTERM ends the program with its number", func(t *testing.T) {
		l := p.start("chat", "--json")
		l.say(`{"text":"hello","id":"3"}`)
		l.until(`"reply"`)
		check.NoError(t, l.cmd.Process.Signal(syscall.SIGTERM))
		_, code := l.rest()
		check.Equal(t, "exit code", code, 143)
	})
	t.Run("a second bot on the same folder is refused", func(t *testing.T) {
		address := freeAddress(t)
		l := p.start("chat", "--json", "--web", address)
		l.say(`{"text":"/help"}`)
		l.until(`"reply"`)
		r := p.run("hello\n", "chat", "--web", address) // the port is in use too; the folder matters more
		check.Equal(t, "exit code", r.code, exitInUse)
		check.Contains(t, "errors", r.err, fmt.Sprintf("process %d holds data/cairn.lock", l.cmd.Process.Pid))
		check.Equal(t, "output", r.out, "")
		check.Contains(t, "the transcript cannot be read while the bot runs", p.must("", "transcript"), "I like tea")
		l.end()
	})
}

// The web address serves the health checks, too.
func TestHealthAtTheWebAddress(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.write("config.toml", fmt.Sprintf("[web]\nlisten = %q\n", freeAddress(t)))
	l := p.start("chat", "--json")
	l.say(`{"text":"/help"}`)
	l.until(`"reply"`)
	check.HasPrefix(t, "health", p.must("", "health"), `{"ok":true`)
	l.end()
}

// writeServerSettings makes the bot talk to a server, in a small window.
func writeServerSettings(p folder, server *llmtest.Server, more ...string) string {
	return p.write("config.toml", fmt.Sprintf(`
[llm]
base_url = %q
[[agents]]
id = "small"
context_window = 6000
max_output_tokens = 200
%s
`, server.URL, strings.Join(more, "\n")))
}

// isWorker reports whether a request comes from the one that summarizes.
func isWorker(x *llmtest.Exchange) bool {
	for _, tool := range x.Request.Tools {
		if tool.Function.Name == "summarize" {
			return true
		}
	}
	return false
}
