package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/simulate"
)

// recorded is a conversation of two people, one object a line.
func recorded(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"m%d","time":"2025-03-01T%02d:%02d:00Z","author":%q,"text":"Plot %d needs %d cans of water, and the <b>gate</b> stays shut on day %d because of the goats and the wind."}`+"\n",
			i, i/60%24, i%60, []string{"Ada", "Helper"}[i%2], i%17, i%23, i)
	}
	return b.String()
}

const smallWindow = "[[agents]]\nid = \"small\"\ncontext_window = 8000\nmax_output_tokens = 500\n"

// report is what `cairn simulate --json` prints.
func simulatedReport(t *testing.T, p folder, args ...string) (r simulate.Report) {
	t.Helper()
	check.NoError(t, json.Unmarshal([]byte(p.must("", append([]string{"simulate", "--json"}, args...)...)), &r))
	return r
}

func TestSimulate(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	p := newFolder(t)
	p.write("config.toml", strings.Replace(smallWindow, "8000", "4000", 1))
	p.write("talk.jsonl", recorded(160))
	p.must("", "import", "--channel", "garden", "talk.jsonl")
	t.Run("a channel's compactions are those that happened, and its database stays as it is", func(t *testing.T) {
		before := check.Must(os.ReadFile(filepath.Join(p.dir, "data", "cairn.db")))(t)
		r := simulatedReport(t, p, "--channel", "garden")
		if len(r.Variants) != 1 || r.Variants[0].Name != simulate.InForce || r.Happened == 0 || r.Equal != r.Happened || len(r.Variants[0].Compactions) != r.Happened {
			t.Errorf("got %d of %d compactions equal, in %d variants", r.Equal, r.Happened, len(r.Variants))
		}
		check.Equal(t, "database", string(check.Must(os.ReadFile(filepath.Join(p.dir, "data", "cairn.db")))(t)), string(before))
	})
	t.Run("each --vs begins a variant, and --set is of the last one", func(t *testing.T) {
		r := simulatedReport(t, p, "talk.jsonl", "--vs", "--set", "background_threshold=0.5", "--vs", "--set", "context_window=3000", "--set", "keep_last_n=2", "--svg", "out.svg", "--html", "out.html")
		if len(r.Variants) != 3 || r.Variants[1].Settings["background_threshold"] != "0.5" || r.Variants[2].Window != 3000 || r.Variants[2].Settings["keep_last_n"] != "2" || r.Variants[2].Settings["background_threshold"] != "" {
			t.Errorf("variants %+v", r.Variants)
		}
		if r.Variants[1].Verbatim.Mean >= r.Variants[0].Verbatim.Mean {
			t.Error("a lower level leaves no fewer messages verbatim")
		}
		for _, file := range []string{"out.svg", "out.html"} {
			text := string(check.Must(os.ReadFile(filepath.Join(p.dir, file)))(t))
			check.Contains(t, file, text, "background_threshold=0.5", "<svg")
			check.Lacks(t, file, text, "<script")
		}
	})
	t.Run("with --json, what goes to standard output is in the object", func(t *testing.T) {
		var both simulated
		check.NoError(t, json.Unmarshal([]byte(p.must("", "simulate", "talk.jsonl", "--json", "--svg", "-", "--html", "-")), &both))
		check.Len(t, "variants", both.Variants, 1)
		check.HasPrefix(t, "variants", both.SVG, "<svg")
		check.Contains(t, "page", both.HTML, "<svg")
		check.HasPrefix(t, "chart", p.must("", "simulate", "talk.jsonl", "--svg", "-"), "<svg")
	})
	t.Run("the messages of --bot make turns", func(t *testing.T) {
		r := simulatedReport(t, p, "talk.jsonl", "--bot", "helper", "--set", "stack_budget=0.1")
		if len(r.Variants) != 2 || r.Variants[0].Turns.Requests != 80 || r.Variants[0].Turns.Cached == 0 || r.Variants[0].Turns.Cached >= r.Variants[0].Turns.Input {
			t.Errorf("got turns %+v of %d variants", r.Variants[0].Turns, len(r.Variants))
		}
	})
	t.Run("questions beside the file are asked", func(t *testing.T) {
		p.write("asked.jsonl", recorded(160))
		p.write("asked.qa.jsonl", `{"question":"How many cans does plot 3 need?","answer":"3 cans","evidence":["m3"]}`+"\n")
		f := simulatedReport(t, p, "asked.jsonl").Variants[0].Found
		check.That(t, f != nil && f.Questions == 1 && f.Recall.Evidence >= f.Context.Evidence, "found %+v", f)
	})
	t.Run("people read a table", func(t *testing.T) {
		out := p.must("", "simulate", "--channel", "garden", "--vs", "--set", "economy=true")
		check.Contains(t, "the table", out, "in force  economy=true", "verbatim tokens, mean", "compactions that really happened", "used tokens over messages", "▇")
	})
}

func TestSimulateRefuses(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	p := newFolder(t)
	p.write("talk.jsonl", recorded(10))
	p.write("foreign.jsonl", "SQLite format 3\x00\x10")
	p.write("empty.jsonl", "\n")
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"an unknown key":           {[]string{"talk.jsonl", "--set", "background_treshold=0.5"}, exitUsage, "did you mean background_threshold?"},
		"no value":                 {[]string{"talk.jsonl", "--set", "economy"}, exitUsage, "KEY=VALUE"},
		"a file and a channel":     {[]string{"talk.jsonl", "--channel", "x"}, exitUsage, "either files or --channel"},
		"a bot that nobody is":     {[]string{"talk.jsonl", "--bot", "Helpr"}, exitUsage, "no one in the files has that name"},
		"two outputs in one place": {[]string{"talk.jsonl", "--html", "-", "--svg", "-"}, exitUsage, "standard output"},
		"a file that is not there": {[]string{"none.jsonl"}, exitNotFound, "none.jsonl"},
		"an empty file":            {[]string{"empty.jsonl"}, exitFailed, "no message"},
		"a channel without data":   {[]string{"--channel", "x"}, exitNotFound, "talk to the bot first"},
	} {
		t.Run(name, func(t *testing.T) {
			r := p.run("", append([]string{"simulate"}, test.args...)...)
			check.Equal(t, "exit code", r.code, test.code)
			check.Contains(t, "errors", r.err, test.want)
			check.Equal(t, "output", r.out, "")
		})
	}
	if _, err := os.Stat(filepath.Join(p.dir, "data")); err == nil {
		t.Error("a data folder was created")
	}
}

func TestConfigExplain(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.write("config.toml", "[defaults.compaction]\nbackground_threshold = 0.7\n\n"+smallWindow)
	var all []struct {
		Agent    string
		Settings []struct {
			Key, Value, Origin, Moves string
			Tokens                    int
		}
	}
	check.NoError(t, json.Unmarshal([]byte(p.must("", "config", "check", "--explain", "--json")), &all))
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
		}
		if s.Key == "background_threshold" {
			check.Contains(t, "effect of background_threshold", s.Moves, "prepare_threshold follows: 0.45 at 0.6")
		}
	}
	check.Contains(t, "the table", p.must("", "config", "check", "--explain"), "background_threshold affects")
	check.Equal(t, "--channel alone", p.run("", "config", "check", "--channel", "x").code, exitUsage)
}
