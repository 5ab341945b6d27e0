package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/memory"
)

// kept is a memory as commands print it.
type kept struct {
	ID           int64
	Channel      string
	Kind         string
	Content      string
	Speaker      string
	State        string
	Pinned       bool
	SupersededBy int64 `json:"superseded_by"`
	Messages     []row
	Chain        []kept
}

// filled is a folder in which somebody had things remembered.
func filled(t *testing.T) folder {
	p := newFolder(t)
	p.must("/remember the standup is at 9:30\n/remember Ada drinks green tea\n/remember Ada drinks black coffee\n", "chat")
	p.must("/remember the garden has 9 beds\n", "chat", "--channel", "garden")
	return p
}

func TestMemoriesInAShell(t *testing.T) {
	p := filled(t)
	list := func(args ...string) []kept {
		t.Helper()
		return parse[kept](t, p.must("", append([]string{"memories", "list", "--json"}, args...)...))
	}
	t.Run("lists are narrowed by channel, kind, state and time, and paged", func(t *testing.T) {
		for _, c := range []struct {
			args string
			want int
		}{
			{"", 4},
			{"--channel garden", 1},
			{"--kind fact", 4},
			{"--kind goal", 0},
			{"--state forgotten", 0},
			{"--state all", 4},
			{"--since 1h", 4},
			{"--since 2199-01-01", 0},
			{"--until 2020-01", 0},
			{"--until 1h", 0},
			{"--about ada", 4},
			{"--about Bo", 0},
			{"--limit 3", 3},
			{"--limit 3 --offset 3", 1},
			{"--offset 9", 0},
		} {
			if got := list(strings.Fields(c.args)...); len(got) != c.want {
				t.Errorf("%s: %+v", c.args, got)
			}
		}
		if r := p.run("", "memories", "list", "--limit", "1"); !strings.Contains(r.err, "3 more") || !strings.HasSuffix(r.out, "  Ada    the garden has 9 beds  terminal:garden\n") {
			t.Errorf("%q, %q", r.out, r.err)
		}
	})
	t.Run("mistakes say what there is", func(t *testing.T) {
		for args, want := range map[string]string{
			"list --kind gossip": "there are identity, goal", "list --state lost": "there are active, expired", "list --since May": "is no time",
			"list --until May": "--until \"May\" is no time", "list --sort beauty": "there are confirmed, expires", "list --csv --json": "--csv or --json", "stats tea": "one argument too many",
			"list --limit -1": "at least 1", "list --offset -1": "at least 0", "show tea": "no memory's number", "export --format csv": "there are jsonl and markdown",
			"purge 1": "say --yes", "pin": "name an ID", "pin 1 2": `"2" is one argument too many`, "list tea": `"tea" is one argument too many`, "search": "name WORDS",
			"list --limit many": `invalid argument "many" for "--limit" flag: must be a whole number;`,
		} {
			if r := p.run("", append([]string{"memories"}, strings.Fields(args)...)...); r.code != exitUsage || !strings.Contains(r.err, want) {
				t.Errorf("%s: exit code %d, %q", args, r.code, r.err)
			}
		}
		for _, what := range []string{"show", "forget", "restore", "pin", "unpin", "purge --yes"} {
			if r := p.run("", append([]string{"memories"}, append(strings.Fields(what), "99")...)...); r.code != exitNotFound || r.err != "cairn: memory 99: not found: `cairn memories list --state all` shows what there is\n" {
				t.Errorf("%s: exit code %d, %q", what, r.code, r.err)
			}
		}
	})
	t.Run("forgotten, restored, pinned and unpinned they say so, and twice is told", func(t *testing.T) {
		for _, c := range []struct {
			do, state, again string
			pinned           bool
		}{
			{"forget", "forgotten", "was forgotten before", false},
			{"restore", "active", "is not forgotten: it is active", false},
			{"pin", "active", "", true},
			{"unpin", "active", "", false},
		} {
			got := parse[kept](t, p.must("", "memories", c.do, "2", "--json"))
			if len(got) != 1 || got[0].State != c.state || got[0].Pinned != c.pinned || got[0].Content != "Ada drinks green tea" {
				t.Errorf("%s: %+v", c.do, got)
			}
			if shown := parse[kept](t, p.must("", "memories", "show", "2", "--json"))[0]; shown.State != c.state || shown.Pinned != c.pinned {
				t.Errorf("after %s: %+v", c.do, shown)
			}
			if r := p.run("", "memories", c.do, "2"); c.again != "" && (r.code != exitFailed || !strings.Contains(r.err, c.again)) {
				t.Errorf("%s again: exit code %d, %q", c.do, r.code, r.err)
			}
		}
		p.must("", "memories", "forget", "2")
		if r := p.run("", "memories", "pin", "2"); r.code != exitFailed || !strings.Contains(r.err, "it is forgotten") {
			t.Errorf("exit code %d, %q", r.code, r.err)
		}
		if got := list("--state", "forgotten"); len(got) != 1 || got[0].ID != 2 {
			t.Errorf("%+v", got)
		}
		contains(t, "the result", p.must("", "memories", "list", "--state", "all"), "  forgotten\n")
	})
	t.Run("restored where another says the same, it is told which", func(t *testing.T) {
		p.must("/remember ada DRINKS green tea!\n", "chat")
		if r := p.run("", "memories", "restore", "2"); r.code != exitFailed || !strings.Contains(r.err, "another memory says the same: memory 5") {
			t.Errorf("exit code %d, %q", r.code, r.err)
		}
	})
	t.Run("purged they are gone", func(t *testing.T) {
		if r := p.run("y\n", "memories", "purge", "2"); r.code != exitUsage {
			t.Errorf("through a pipe nobody is asked: exit code %d, %q", r.code, r.err)
		}
		if got := parse[kept](t, p.must("", "memories", "purge", "2", "--yes", "--json")); len(got) != 1 || got[0].State != "purged" {
			t.Errorf("%+v", got)
		}
		expect(t, "the result", len(list("--state", "all")), 4)
	})
	t.Run("beside a running bot all but import work", func(t *testing.T) {
		l := p.start("chat", "--json")
		l.say(`{"text":"/remember the cat is called Tom"}`)
		l.until("in mind")
		expect(t, "the result", len(parse[kept](t, p.must("", "memories", "search", "Tom", "--json"))), 1)
		p.must("", "memories", "forget", "6")
		p.must("", "memories", "purge", "6", "--yes")
		exported := p.must("", "memories", "export")
		r := p.run("", "memories", "import", p.write("beside.jsonl", exported))
		if r.code != exitInUse {
			t.Errorf("exit code %d, %q", r.code, r.err)
		}
		l.in.Close()
		l.rest()
	})
}

func TestMemoriesShow(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.must("hello\nI live in Oslo\nI live in Bergen\n", "chat")
	store := must(memory.Open(t.Context(), memory.Options{Dir: filepath.Join(p.dir, "data")}))(t)
	c := must(store.Find(t.Context(), "terminal:general"))(t)
	var said []int64 // what Ada said
	for _, r := range parse[row](t, p.must("", "transcript", "--json")) {
		if r.Author == "Ada" {
			said = append(said, r.Seq)
		}
	}
	for n, arguments := range []string{
		fmt.Sprintf(`{"content": "Ada lives in Oslo", "kind": "identity", "messages": [%d]}`, said[1]),
		fmt.Sprintf(`{"content": "Ada lives in Bergen", "kind": "identity", "messages": [%d], "supersedes": 1}`, said[2]),
		fmt.Sprintf(`{"content": "Ada is away", "kind": "event", "messages": [%d], "expires": "3000-01-01"}`, said[2]),
	} {
		for _, tool := range c.Tools(memory.ToolOptions{Turn: func() int64 { return 1 }}) {
			if tool.Name != "memory_save" {
				continue
			}
			if answer, err := tool.Run(t.Context(), []byte(arguments)); err != nil {
				t.Fatal(n, answer, err)
			}
		}
	}
	noError(t, store.Close())
	t.Run("it shows the messages and the chain, both ways", func(t *testing.T) {
		for id, want := range map[string][]string{
			"1": {"1  Ada lives in Oslo", "superseded  by 2     identity    Ada lives in Bergen", "Ada: I live in Oslo", "state       superseded", "saved by    assistant"},
			"2": {"2  Ada lives in Bergen", "supersedes  1     identity    Ada lives in Oslo", "superseded)", "I live in Bergen"},
			"3": {"expires     3000-01-02 00:00"},
		} {
			out := p.must("", "memories", "show", id)
			for _, text := range want {
				if !strings.Contains(out, text) {
					t.Errorf("%s: %s\nwant %q in it", id, out, text)
				}
			}
		}
		got := parse[kept](t, p.must("", "memories", "show", "2", "--json"))[0]
		if len(got.Chain) != 2 || got.Chain[0].ID != 1 || got.Chain[0].SupersededBy != 2 || got.Chain[1].ID != 2 || len(got.Messages) != 1 || got.Messages[0].Text != "I live in Bergen" {
			t.Errorf("%+v", got)
		}
		if got := parse[kept](t, p.must("", "memories", "show", "3", "--json"))[0]; got.Chain == nil || len(got.Chain) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestMemoriesInAFile(t *testing.T) {
	t.Parallel()
	p := filled(t)
	p.must("", "memories", "forget", "3")
	out := p.must("", "memories", "export")
	t.Run("JSON Lines come back elsewhere, and again without harm", func(t *testing.T) {
		other := newFolder(t)
		file := other.write("memories.jsonl", out)
		expect(t, "the result", other.must("", "memories", "import", file), "imported 4 memories; 0 were there already\n")
		expect(t, "the result", other.must("", "memories", "import", file), "imported 0 memories; 4 were there already\n")
		expect(t, "the result", other.must("", "memories", "export"), out)
		if got := parse[kept](t, other.must("", "memories", "search", "tea", "--json")); len(got) != 1 || got[0].Speaker != "Ada" {
			t.Errorf("%+v", got)
		}
		other.must("", "memories", "restore", "3")
	})
	t.Run("a file is written once, for its owner alone", func(t *testing.T) {
		p.must("", "memories", "export", "all.jsonl")
		text, err := os.ReadFile(filepath.Join(p.dir, "all.jsonl"))
		if err != nil || string(text) != out {
			t.Errorf("%q, %v", text, err)
		}
		expect(t, "the result", must(os.Stat(filepath.Join(p.dir, "all.jsonl")))(t).Mode().Perm(), 0o600)
		if r := p.run("", "memories", "export", "all.jsonl"); r.code != exitFailed || !strings.Contains(r.err, "is there already") {
			t.Errorf("exit code %d, %q", r.code, r.err)
		}
	})
	t.Run("Markdown is for reading, and shows marks as they are", func(t *testing.T) {
		p.must("/remember use *snake_case* [here](x) <b>\n", "chat")
		out := p.must("", "memories", "export", "--format", "markdown", "--state", "current")
		if !strings.HasPrefix(out, "# terminal:") || strings.Count(out, "\n\n# ") != strings.Count(out, "# terminal:")-1 {
			t.Errorf("blank lines stand between channels alone:\n%s", out)
		}
		for _, want := range []string{"# terminal:general\n", "# terminal:garden\n", "- **fact** the standup is at 9:30", "(memory 1, Ada, ", `use \*snake\_case\* \[here\](x) \<b>`} {
			contains(t, "the result", out, want)
		}
		if strings.Contains(out, "coffee") {
			t.Error("what was forgotten is in it")
		}
	})
	t.Run("a filter holds for files too", func(t *testing.T) {
		if got := parse[kept](t, p.must("", "memories", "export", "--channel", "garden")); len(got) != 1 || got[0].Channel != "terminal:garden" {
			t.Errorf("%+v", got)
		}
		for _, command := range []string{"export", "list"} {
			r := p.run("", "memories", command, "--channel", "nowhere")
			if r.code != exitNotFound || r.err != "cairn: channel nowhere: not found: there are terminal:garden, terminal:general\n" {
				t.Errorf("exit code %d, %q", r.code, r.err)
			}
		}
	})
	good := `{"channel":"terminal:general","kind":"fact","content":"Ada rows","said_at":"2023-05-08T13:56:00Z"}` + "\n"
	for _, c := range []struct{ claim, text, want string }{
		{"no JSON", good + "hello", "bad.jsonl:2: this is no JSON object"},
		{"a list", good + "\n[]", "bad.jsonl:3: a line must be one JSON object"},
		{"a wrong type", `{"content":7}`, `bad.jsonl:1: "content" must not be a JSON number`},
		{"a time that is none", strings.Replace(good, "2023-05-08T13:56:00Z", "May", 1), `bad.jsonl:1: a time must look like`},
		{"a kind there is none of", good + strings.Replace(good, `"fact"`, `"gossip"`, 1), `bad.jsonl:2: there is no kind "gossip"`},
		{"a channel there is none of", strings.Replace(good, "terminal:general", "general", 1), `bad.jsonl:1: channel is "general": it must be the whole name`},
		{"an importance", strings.Replace(good, `"kind"`, `"importance":2,"kind"`, 1), `bad.jsonl:1: importance is 2: it must be from 0 to 1`},
	} {
		t.Run("refused with its line: "+c.claim, func(t *testing.T) {
			p := newFolder(t)
			r := p.run("", "memories", "import", p.write("bad.jsonl", c.text))
			if r.code != exitFailed || !strings.Contains(r.err, c.want) {
				t.Errorf("exit code %d, %q", r.code, r.err)
			}
			if _, err := os.Stat(filepath.Join(p.dir, "data")); err == nil {
				t.Error("something was imported")
			}
		})
	}
	t.Run("what may be left out may", func(t *testing.T) {
		p := newFolder(t)
		p.must("", "memories", "import", p.write("short.jsonl", "\ufeff"+good))
		if got := parse[kept](t, p.must("", "memories", "list", "--json")); len(got) != 1 || got[0].State != "active" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("one is one", func(t *testing.T) {
		p := newFolder(t)
		file := p.write("one.jsonl", strings.Replace(good, `"kind"`, `"messages":[{"seq":1,"id":"x","time":"2023-05-08T13:56:00Z"}],"kind"`, 1))
		if r := p.run("", "memories", "import", file); r.out != "imported 1 memory; 0 were there already\n" || r.err != "1 of the messages they came from is not here\n" {
			t.Errorf("%q, %q", r.out, r.err)
		}
		expect(t, "the result", p.must("", "memories", "import", file), "imported 0 memories; 1 was there already\n")
	})
}

// FuzzReadMemories holds the reader to this: whatever stands in a file, it is refused
// with its line, or can be imported, twice.
func FuzzReadMemories(f *testing.F) {
	f.Add([]byte(`{"id":1,"channel":"terminal:general","kind":"fact","content":"Ada rows","said_at":"2023-05-08T13:56:00Z","superseded_by":2}
{"id":2,"channel":"terminal:general","kind":"goal","content":"Ada swims","said_at":"2023-05-08T13:56:00+02:00","state":"expired","expires_at":"2024-05-08T13:56:00Z","messages":[{"seq":1,"id":"m1","time":"2023-05-08T13:56:00Z"}]}`))
	f.Add([]byte("\ufeff{}\n\n[]\nnull"))
	f.Add([]byte(`{"channel":"discord:1/'%_\"","kind":"fact","content":"\u0000\ud800","said_at":"0001-01-01T00:00:00Z","importance":1e-320}`))
	f.Add([]byte(`{"channel":"slack:T/C","kind":"todo","content":"x","said_at":"9999-12-31T23:59:59Z","messages":[{"seq":-1},{"seq":4294967296}],"confirmed":-5}`))
	dir := f.TempDir()
	store := must(memory.Open(f.Context(), memory.Options{Dir: filepath.Join(dir, "data")}))(f)
	defer store.Close()
	file := filepath.Join(dir, "f.jsonl")
	f.Fuzz(func(t *testing.T, text []byte) {
		noError(t, os.WriteFile(file, text, 0o600))
		all, err := readMemories(file)
		if err != nil {
			if !strings.HasPrefix(err.Error(), file+":") {
				t.Fatalf("the error names no line: %v", err)
			}
			return
		}
		first, err := store.ImportMemories(t.Context(), all)
		if err != nil || first.Fresh+first.Known != len(all) {
			t.Fatalf("%+v of %d, %v", first, len(all), err)
		}
		if again, err := store.ImportMemories(t.Context(), all); err != nil || again.Fresh != 0 {
			t.Fatalf("again: %+v, %v", again, err)
		}
	})
}
