package config

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/testkit/check"
)

// bothFiles writes config.toml and config.local.toml, and returns the name of the first.
func bothFiles(t *testing.T, main, local string) (file string) {
	t.Helper()
	file = writeSettings(t, main)
	check.NoError(t, os.WriteFile(LocalFile(file), []byte(local), 0o600))
	return file
}

func TestLocalFile(t *testing.T) {
	for file, local := range map[string]string{
		"": "config.local.toml", "config.toml": "config.local.toml", "/etc/cairn/x.toml": "/etc/cairn/x.local.toml",
		"/etc/cairn.d/settings": "/etc/cairn.d/settings.local",
	} {
		check.Equal(t, file, LocalFile(file), local)
	}
	t.Run("is read over the settings file, key by key", func(t *testing.T) {
		file := bothFiles(t, `
workers = 2
restricted = ["pin", "undo"]
[llm]
base_url = "http://one.test/v1"
model = "one"
[defaults.compaction]
keep_last_n = 9
keep_first = 2
[prices."gpt-4.1"]
input = 3
output = 1
[[agents]]
id = "a"
[[agents]]
id = "b"
`, `
restricted = ["new"]
[llm]
model = "two"
[defaults.compaction]
keep_last_n = 8
[prices."gpt-4.1"]
output = 2
[[agents]]
id = "c"
`)
		s := check.Must(Load(file))(t)
		check.Equal(t, "values", fmt.Sprintln(s.Workers, s.LLM.BaseURL, s.LLM.Model, s.Defaults.Compaction.KeepLastN, s.Defaults.Compaction.KeepFirst), "2 http://one.test/v1 two 8 2\n")
		check.Equal(t, "prices", fmt.Sprint(*s.Prices["gpt-4.1"].Input, *s.Prices["gpt-4.1"].Output), "3 2")
		check.EqualAll(t, "a list", s.Restricted, []string{"new"})
		check.That(t, len(s.Agents) == 1 && s.Agents[0].ID == "c", "tables with ids: got %+v", s.Agents)
		check.Equal(t, "positions", s.Position("c", "keep_last_n")+" "+s.Position("c", "keep_first")+" "+s.Position("c", "pin_budget"), "config.local.toml:6 config.toml:9 ")
		check.Equal(t, "files", s.Files, file+", "+LocalFile(file))
	})
	t.Run("works without the settings file, and its paths are relative to the same folder", func(t *testing.T) {
		file := bothFiles(t, "", "data_dir = \"d\"\n")
		check.NoError(t, os.Remove(file))
		s := check.Must(Load(file))(t)
		check.Equal(t, "data folder", s.DataDir, filepath.Join(filepath.Dir(file), "d"))
		check.Equal(t, "files", s.Files, LocalFile(file))
	})
}

// beginsWith checks how the lines of an error begin, with M and L for the names of the two files.
func beginsWith(t *testing.T, file string, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = strings.NewReplacer(file, "M", LocalFile(file), "L").Replace(err.Error())
	}
	lines := strings.Split(got, "\n")
	wanted := strings.Split(want, "\n")
	check.Len(t, "mistakes in "+got, lines, len(wanted))
	for i, line := range lines {
		check.HasPrefix(t, "a mistake", line, wanted[i])
	}
}

func TestMistakesNameTheirFile(t *testing.T) {
	for name, test := range map[string]struct{ main, local, want string }{
		"values in both":              {"workers = 0\n", "\ncall_per_hour = 3\n", "M:1: workers = 0: \nL:2: call_per_hour: "},
		"no TOML in both":             {"workers = x\n", "[llm\n", "M:1: this is not valid TOML\nL:2: this is not valid TOML"},
		"a line that ends too soon":   {"", "[llm\n", "L:2: this is not valid TOML (expected '.' or ']' to end table name, but got '\\n' instead): texts need"},
		"a corrected value":           {"workers = 0\n", "workers = 1\n", ""},
		"a table against a list":      {"[[agents]]\nid = \"a\"\n", "[agents]\nid = \"a\"\n", "L:1: agents: must be tables"},
		"a part of a price":           {"", "[prices.m]\ninput = 1\n", "L:1: [prices.\"m\"]: output: is missing"},
		"an agent of the local file":  {"\n\n\n[[agents]]\nid = \"a\"\ncontext_window = 5\n", "[[agents]]\nid = \"b\"\ntask_calls = 0\n", "L:3: [agents.b]: task_calls = 0"},
		"one that only the main has":  {"[llm]\nbase_url = \"x\"\n", "[llm]\nmodel = \"y\"\n", "M:2: [llm]: base_url = \"x\""},
		"a key under both its names":  {"[defaults.compaction]\nearlier_segments = 1\n", "[defaults.compaction]\nearlier_sessions = 2\n", "M:2: [defaults.compaction]: earlier_segments: it is the old name"},
		"nesting without limit":       {"", "a = " + strings.Repeat("[", 20), "L:1: this is nested deeper"},
		"a table that replaces a key": {"health = \"\"\n", "[health]\na = 1\n", "L:1: health: must be a text in quotes"},
	} {
		t.Run(name, func(t *testing.T) {
			file := bothFiles(t, test.main, test.local)
			beginsWith(t, file, check.ErrorOf(Load(file)), test.want)
		})
	}
	t.Run("permissions", func(t *testing.T) {
		file := bothFiles(t, "workers = 2\n", "workers = 3\n[llm]\napi_key = \"sk-1\"\n")
		check.NoError(t, os.Chmod(LocalFile(file), 0o602))
		s := check.Must(Load(file))(t)
		check.Len(t, "warnings", s.Warnings, 2)
		for _, w := range s.Warnings {
			check.Equal(t, w.String(), w.File, LocalFile(file))
		}
	})
}

// watchedFiles are two settings files, of which either may be missing, and a Watcher of them.
type watchedFiles struct {
	t       *testing.T
	file    string
	current Settings
	log     check.Buffer
}

// becomes writes both files, or removes those whose text is "-", and waits until the watcher has seen it.
func (w *watchedFiles) becomes(main, local string, workers int, logged string) {
	w.t.Helper()
	for file, text := range map[string]string{w.file: main, LocalFile(w.file): local} {
		if text == "-" {
			if err := os.Remove(file); err != nil {
				check.Error(w.t, err, fs.ErrNotExist)
			}
			continue
		}
		check.NoError(w.t, os.WriteFile(file, []byte(text), 0o600))
	}
	before := len(w.log.String())
	time.Sleep(3 * pollInterval)
	synctest.Wait()
	check.Equal(w.t, fmt.Sprintf("workers with %q and %q", main, local), w.current.Workers, workers)
	added := w.log.String()[before:]
	check.Contains(w.t, "the log", added, logged)
	check.That(w.t, logged != "" || added == "", "got the log %s", added)
}

func TestWatcherReadsBothFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watchedFiles{t: t, file: writeSettings(t, "workers = 2\n")}
		w.current = check.Must(Load(w.file))(t)
		watcher := Watcher{
			File: w.file, Log: slog.New(slog.NewTextHandler(&w.log, nil)), Current: func() *Settings { return &w.current },
			Apply: func(s Settings) error { w.current = s; return nil },
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go watcher.Run(ctx, nil)
		w.becomes("workers = 2\n", "workers = 3\n", 3, "")
		w.becomes("workers = 4\n", "workers = 3\ncalls_per_hour = 7\n", 3, "")
		check.Equal(t, "calls per hour", w.current.CallsPerHour, 7)
		w.becomes("workers = 4\n", "", 3, "config.local.toml: it is empty; if that is intended")
		w.becomes("workers = 4\n", "workers = 0\n", 3, "config.local.toml:1: workers = 0")
		w.becomes("workers = 4\n", "workers = 0\n", 3, "") // the same mistake is logged once
		w.becomes("", "workers = 5\n", 3, "config.toml: it is empty; if that is intended")
		w.becomes("workers = 4\n", "-", 4, "")
		w.becomes("-", "workers = 6\n", 6, "")
		w.becomes("-", "-", 6, "read_settings_failed")
		w.becomes("-", "workers = 7\n", 7, "")
		w.becomes("workers = 8\n", "# nothing\n", 8, "")
		for n := range 100 { // an editor may write in many steps: only the last is applied
			check.NoError(t, os.WriteFile(w.file, fmt.Appendf(nil, "workers = %d\n", 10+n), 0o600))
			time.Sleep(7 * time.Millisecond)
			synctest.Wait()
			check.Equal(t, "workers between two writes", w.current.Workers, 8)
		}
		w.becomes("workers = 12\n", "# nothing\n", 12, "")
	})
}
