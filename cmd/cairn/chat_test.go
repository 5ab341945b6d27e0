package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func TestChatWithoutSettings(t *testing.T) {
	p := newFolder(t)
	r := p.run("My name is Ada and I prefer tea.\nWhat do I prefer?\n", "chat")
	check.Contains(t, "output", r.out, "I prefer tea.")
	check.Equal(t, "errors", r.err, "")
	p.bare = true
	file := p.write("other.toml", `data_dir = "elsewhere"`)
	p.must("hello\n", "chat", "--config", file)
	for name, want := range map[string]os.FileMode{"elsewhere": 0o700, "elsewhere/cairn.db": 0o600, "elsewhere/cairn.lock": 0o600} { // only for the owner
		check.Equal(t, name, check.Must(os.Stat(filepath.Join(p.dir, name)))(t).Mode().Perm(), want)
	}
	p.must("hello\n", "chat", "--config", file, "--data", "third")
	check.NoError(t, check.ErrorOf(os.Stat(filepath.Join(p.dir, "third/cairn.db"))))
}

func TestUnwritableOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no device that is always full here: ", err)
	}
	defer full.Close()
	help := newFolder(t).command("memories", "list", "--help")
	help.Stdout = full
	_ = help.Run()
	check.Equal(t, "exit code of --help", help.ProcessState.ExitCode(), exitFailed)
	for command, c := range map[string][2]string{
		"chat": {"I like tea\n", "as message #1."}, "chat --json": {`{"text":"I like tea","id":"1"}` + "\n", `"to":["1"]`},
	} {
		p := newFolder(t)
		args := strings.Fields(command)
		cmd := p.command(args...)
		var errs strings.Builder
		cmd.Stdin = strings.NewReader(c[0])
		cmd.Stdout = full
		cmd.Stderr = &errs
		_ = cmd.Run() // the exit code shows it
		check.Equal(t, "exit code", cmd.ProcessState.ExitCode(), exitFailed)
		check.Equal(t, "error lines", strings.Count(errs.String(), "cairn: "), 1)
		check.Contains(t, "errors", errs.String(), "no space left on device")
		check.Contains(t, "output of the next start, which says what was not said", p.must("", args...), c[1])
	}
}

func TestChatJSON(t *testing.T) {
	p := newFolder(t)
	address := freeAddress(t)
	l := p.start("chat", "--json", "--web", address)
	for _, c := range [][2]string{{`{"text":"I like tea","id":"1"}`, `"reply"`}, {"nonsense", `"error"`}, {`{"text":"I like tea","id":"1"}`, `"accepted"`}} {
		l.ask(c[0], c[1])
	}
	p.write("config.toml", fmt.Sprintf("[web]\nlisten = %q\n", address))
	check.HasPrefix(t, "health at the web address", p.must("", "health"), `{"ok":true`)
	// The port is in use too; the folder matters more.
	second := p.fails(exitInUse, fmt.Sprintf("process %d holds data/cairn.lock", l.cmd.Process.Pid), "upgrade")
	check.Equal(t, "output of a second bot", second.out, "")
	check.Contains(t, "the transcript beside a bot", p.must("", "transcript"), "I like tea")
	l.stop()
	out := p.must(`{"text":"I like tea","id":"1"}`+"\n", "chat", "--json")
	check.Equal(t, "output after a restart", out, `{"type":"accepted","channel":"general","id":"1","seq":1}`+"\n")
}

const noBackups = "[backup]\nevery = \"0s\"\n"

// writeServerSettings makes the bot talk to a server, in a small window.
func writeServerSettings(p folder, server *llmtest.Server, more ...string) {
	p.write("config.toml", fmt.Sprintf(noBackups+"[llm]\nbase_url = %q\n[[agents]]\nid = \"small\"\ncontext_window = 6000\nmax_output_tokens = 200\n%s\n", server.URL, strings.Join(more, "\n")))
}

func TestPipedChatWaitsForTasks(t *testing.T) {
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if strings.Contains(x.Request.Messages[0].Text(), "You count.") {
			x.Say("There are 12 bridges.")
			return
		}
		x.Say("I hear: " + x.Request.Last().Text())
	})
	p := newFolder(t)
	writeServerSettings(p, server, "spawn = [\"counter\"]\n[[agents]]\nid = \"counter\"\ninstructions = \"You count.\"\n[agents.compaction]\nkeep_last_n = 33")
	check.Contains(t, "output", p.must("/ask @counter how many bridges?\n", "chat"), "Task 1 of counter has started", "There are 12 bridges.")
	p.prints("--channel task:terminal:general/1", map[string][]string{
		"context --json": {`"agent":"counter"`}, "simulate --json": {`"keep_last_n":"33"`}, "transcript": {"how many bridges?"},
	})
}

func TestTimesUseConfiguredZone(t *testing.T) {
	server := llmtest.Serve(t, saying("Fine."))
	p := newFolder(t).with("time_zone = \"Asia/Tokyo\"\n[llm]\nbase_url = \"" + server.URL + "\"\n")
	p.must(`{"text":"we meet tomorrow","id":"1","time":"2026-01-31T20:30:00Z"}`+"\n", "chat", "--json")
	asked := slices.DeleteFunc(server.Requests(), isStartCheck)
	check.Len(t, "model requests", asked, 1)
	check.Contains(t, "turn context", asked[0].Last().Text(), " 2026-02-01 05:30 Ada] we meet tomorrow", " JST;")
	p.prints("", map[string][]string{
		"transcript": {"2026-02-01 05:30"}, "transcript --json": {`"2026-01-31T20:30:00Z"`},
		"recall meet --since 2026-02-01": {"meet tomorrow"}, "recall meet --since 2026-02-02": {"!meet tomorrow"},
	})
}

// Each hook writes its input to a file. The one before a compaction can veto it, but not an
// emergency.
func TestHooks(t *testing.T) {
	dir := t.TempDir()
	p := newFolder(t)
	settings := "[[agents]]\ncontext_window = 4000\n[hooks]\n"
	talk := ""
	for hook, answer := range map[string]string{
		"before_compaction": `; echo '{"reason":"not at night"}'; exit 10`, "after_compaction": "", "on_memory": "", "on_reply": "",
	} {
		settings += fmt.Sprintf("%s = [\"sh\", \"-c\", %q]\n", hook, fmt.Sprintf("cat >> %s/%s; echo >> %[1]s/%[2]s%s", dir, hook, answer))
	}
	p.write("config.toml", settings)
	for i := range 30 {
		talk += fmt.Sprintf("The garden of plot %d needs %s and the gate opens at noon.\n", i, strings.Repeat("tulips ", 50))
	}
	p.must(talk+"/remember Ada plays the cello\n", "chat")
	vetoed := regexp.MustCompile(`"state":"noop","trigger":"manual".*not at night`) // at once, or after another compaction
	events := p.must(`{"text":"/compact"}`+"\n", "chat", "--json")
	check.That(t, vetoed.MatchString(events), "/compact is not vetoed: %s", events)
	list := p.must("", "compactions", "--json")
	check.Lacks(t, "compactions", list, `"trigger":"background"`)
	check.Contains(t, "compactions", list, `"trigger":"emergency"`)
	for hook, has := range map[string]string{"before_compaction": "used_tokens", "after_compaction": "before_tokens", "on_memory": "content", "on_reply": "text"} {
		var told map[string]any // the first event; two hooks at a time may share a line
		check.NoError(t, json.NewDecoder(strings.NewReader(read(t, filepath.Join(dir, hook)))).Decode(&told))
		check.That(t, told[has] != nil && told["conversation"] == "terminal:general" && told["time"] != nil, "%s got %v", hook, told)
		if path, ok := told["path"].(string); ok || hook == "after_compaction" {
			check.HasPrefix(t, "path", path, "/api/conversations/terminal:general/summaries/")
		}
	}
}

// The bot knows its model by its environment, which another shell does not have.
func TestContextShowsTheModelThatAnsweredLast(t *testing.T) {
	server := llmtest.Serve(t, func(x *llmtest.Exchange) { x.Say("Here I am.") })
	p := newFolder(t)
	writeServerSettings(p, server)
	p.must("hello\n", "chat")
	used := regexp.MustCompile(`used +\d+ of 6000 tokens \(window: (.*)\)`)
	known := used.FindStringSubmatch(p.must("", "context"))
	p.write("config.toml", noBackups+"[[agents]]\nid = \"small\"\nmax_output_tokens = 200\n")
	shown := p.must("", "context")
	last := used.FindStringSubmatch(shown)
	check.Require(t, known != nil && last != nil, "got %q and %q", known, shown)
	check.Equal(t, "where the window comes from", known[1]+", "+last[1], "setting, the last answer")
	check.Equal(t, "the tokens used", strings.Fields(last[0])[1], strings.Fields(known[0])[1])
	check.Contains(t, "context", shown, "\nmodel     test-model\n")
	check.Contains(t, "simulate", p.must("", "simulate"), "6000")
	p.must("hello\n", "chat")
	check.Contains(t, "context after an answer without a model", p.must("", "context"), "\nmodel     offline\n", "of 128000 tokens (window: default)")
}
