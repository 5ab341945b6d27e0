package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/memory"
	"cairn/store"
)

func TestMemoriesExport(t *testing.T) {
	t.Parallel()
	p := filled(t)
	p.must("", "memories", "forget", "3")
	out := p.must("", "memories", "export")
	t.Run("JSON Lines come back elsewhere, and again without harm", func(t *testing.T) {
		other := newFolder(t)
		file := other.write("memories.jsonl", out)
		check.Equal(t, "output", other.must("", "memories", "import", file), "imported 4 memories; 0 were there already\n")
		check.Equal(t, "output", other.must("", "memories", "import", file), "imported 0 memories; 4 were there already\n")
		check.Equal(t, "output", other.must("", "memories", "export"), out)
		got := other.memories("search tea")
		check.Len(t, "memories", got, 1)
		check.Equal(t, "speaker", got[0].Speaker, "Ada")
		other.must("", "memories", "restore", "3")
	})
	t.Run("a file is written once, for its owner alone", func(t *testing.T) {
		p.must("", "memories", "export", "all.jsonl")
		check.Equal(t, "text", p.read("all.jsonl"), out)
		check.Equal(t, "mode", check.Must(os.Stat(filepath.Join(p.dir, "all.jsonl")))(t).Mode().Perm(), 0o600)
		p.fails(exitUsage, "already exists", "memories", "export", "all.jsonl")
	})
	t.Run("Markdown is for reading, and shows marks as they are", func(t *testing.T) {
		p.must("/remember use *snake_case* [here](x) <b>\n", "chat")
		out := p.must("", "memories", "export", "--format", "markdown", "--state", "current")
		check.HasPrefix(t, "blank lines", out, "# terminal:")
		check.Equal(t, "channels in the file", strings.Count(out, "\n\n# "), strings.Count(out, "# terminal:")-1)
		check.Contains(t, "output", out, "# terminal:general\n", "# terminal:garden\n", ") fact: the standup is at 9:30 (Ada, ", `use \*snake\_case\* \[here\](x) \<b>`)
		check.Lacks(t, "forgotten memories", out, "coffee")
	})
	got := parse[kept](t, p.must("", "memories", "export", "--channel", "garden"))
	check.Len(t, "memories of a channel", got, 1)
	check.Equal(t, "channel", got[0].Channel, "terminal:garden")
	for _, command := range []string{"export", "list"} {
		p.fails(exitNotFound, "cairn: channel nowhere: not found: known: terminal:garden, terminal:general\n", "memories", command, "--channel", "nowhere")
	}
}

func TestMemoriesImport(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	good := `{"channel":"terminal:general","kind":"fact","content":"Ada rows","said_at":"2023-05-08T13:56:00Z"}` + "\n"
	for _, c := range []struct{ text, want string }{
		{good + "hello", "bad.jsonl:2: this is not a JSON object"},
		{good + "\n[]", "bad.jsonl:3: a line must be one JSON object"},
		{`{"content":7}`, `content" must not be a JSON number`},
		{strings.Replace(good, "2023-05-08T13:56:00Z", "May", 1), `bad.jsonl:1: a time must look like`},
		{good + strings.Replace(good, `"fact"`, `"gossip"`, 1), `bad.jsonl:2: there is no kind "gossip"`},
		{strings.Replace(good, "terminal:general", "general", 1), `bad.jsonl:1: channel is "general": it must be the whole name`},
		{strings.Replace(good, `"kind"`, `"importance":2,"kind"`, 1), `bad.jsonl:1: importance is 2: it must be from 0 to 1`},
	} {
		p.fails(exitFailed, c.want, "memories", "import", p.write("bad.jsonl", c.text))
	}
	p.untouched()
	r := p.run("", "memories", "import", p.write("one.jsonl", "\ufeff"+strings.Replace(good, `"kind"`, `"messages":[{"seq":1,"id":"x","time":"2023-05-08T13:56:00Z"}],"kind"`, 1)))
	check.Equal(t, "output of the import", r.out, "imported 1 memory; 0 were there already\n")
	check.Equal(t, "errors of the import", r.err, "1 of the messages they came from is not here\n")
	check.Equal(t, "output", p.must("", "memories", "import", p.write("short.jsonl", good)), "imported 0 memories; 1 was there already\n")
	got := p.memories("list")
	check.Len(t, "memories", got, 1)
	check.Equal(t, "state", got[0].State, "active")
}

// FuzzReadMemories checks that any file is rejected with its line, or can be imported, twice.
func FuzzReadMemories(f *testing.F) {
	f.Add([]byte(`{"id":1,"channel":"terminal:general","kind":"fact","content":"Ada rows","said_at":"2023-05-08T13:56:00Z","superseded_by":2}
{"id":2,"channel":"terminal:general","kind":"goal","content":"Ada swims","said_at":"2023-05-08T13:56:00+02:00","state":"expired","expires_at":"2024-05-08T13:56:00Z","messages":[{"seq":1,"id":"m1","time":"2023-05-08T13:56:00Z"}]}`))
	f.Add([]byte("\ufeff{}\n\n[]\nnull"))
	f.Add([]byte(`{"channel":"discord:1/'%_\"","kind":"fact","content":"\u0000\ud800","said_at":"0001-01-01T00:00:00Z","importance":1e-320}`))
	f.Add([]byte(`{"channel":"slack:T/C","kind":"todo","content":"x","said_at":"9999-12-31T23:59:59Z","messages":[{"seq":-1},{"seq":4294967296}],"confirmed":-5}`))
	dir := f.TempDir()
	db := check.Must(store.Open(f.Context(), store.Options{Dir: filepath.Join(dir, "data")}))(f)
	defer db.Close()
	file := filepath.Join(dir, "f.jsonl")
	f.Fuzz(func(t *testing.T, text []byte) {
		check.NoError(t, os.WriteFile(file, text, 0o600))
		lines, err := readLines[memory.Exported](file)
		if err != nil {
			check.Require(t, strings.HasPrefix(err.Error(), file+":"), "the error lacks the line: %v", err)
			return
		}
		var all []memory.Exported
		for _, l := range lines {
			all = append(all, l.value)
		}
		first, err := memory.In(db).Import(t.Context(), all)
		if _, wrong := errors.AsType[*memory.ImportError](err); wrong {
			return
		}
		check.Require(t, err == nil && first.Fresh+first.Known == len(all), "%+v of %d, %v", first, len(all), err)
		if again, err := memory.In(db).Import(t.Context(), all); err != nil || again.Fresh != 0 {
			t.Fatalf("again: %+v, %v", again, err)
		}
	})
}
