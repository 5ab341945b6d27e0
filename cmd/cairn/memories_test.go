package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
)

type kept struct {
	ID                                     int64
	Channel, Kind, Content, Speaker, State string
	Pinned                                 bool
	SupersededBy                           int64 `json:"superseded_by"`
	Messages                               []chat.Record
	Chain                                  []kept
}

func filled(t *testing.T) folder {
	t.Helper()
	p := newFolder(t)
	p.must("/remember the standup is at 9:30\n/remember Ada drinks green tea\n/remember Ada drinks black coffee\n", "chat")
	p.must("/remember the garden has 9 beds\n", "chat", "--channel", "garden")
	return p
}

// memories runs `cairn memories` with --json, and returns what it prints.
func (p folder) memories(args string) []kept {
	p.t.Helper()
	return parse[kept](p.t, p.must("", append(strings.Fields("memories "+args), "--json")...))
}

func TestMemoriesList(t *testing.T) {
	p := filled(t)
	for args, want := range map[string]int{
		"": 4, "--channel garden": 1, "--kind fact": 4, "--kind goal": 0, "--kind= --sort=": 4, "--state forgotten": 0, "--state all": 4, "--since 1h": 4, "--since 2199-01-01": 0,
		"--until 2020-01": 0, "--until 1h": 0, "--about ada": 4, "--about Bo": 0, "--limit 3": 3, "--limit 3 --offset 3": 1, "--offset 9": 0,
	} {
		check.Len(t, args, p.memories("list "+args), want)
	}
	r := p.run("", "memories", "list", "--limit", "1")
	check.Contains(t, "output and errors", r.out+r.err, "  Ada    the garden has 9 beds  terminal:garden\n", "3 more")
	check.Equal(t, "errors beyond the end", p.run("", "memories", "list", "--offset", "4").err, "no more: there are 4 in all\n")
	p.refuses(exitUsage, "memories", map[string]string{
		"list --kind gossip": "must be one of identity, goal", "list --state lost": "must be one of active, expired", "list --since May": "invalid time",
		"list --until May": "--until: invalid time \"May\"", "list --sort beauty": "must be one of confirmed, expires", "list --csv --json": "--csv or --json", "stats tea": `unexpected argument "tea": cairn memories stats`,
		"list --limit -1": "at least 1", "list --offset -1": "at least 0", "show tea": "not a memory's number", "export --format csv": "must be one of jsonl, markdown",
		"purge 1": "confirm with --yes", "pin": "an argument is missing: cairn memories pin ID", "pin 1 2": `unexpected argument "2"`, "list tea": `unexpected argument "tea"`, "search": "an argument is missing: cairn memories search WORDS…",
		"list --limit many": `invalid argument "many" for "--limit" flag: it must be a whole number; see`,
	})
	for _, what := range []string{"show", "forget", "restore", "pin", "unpin", "purge --yes"} {
		p.fails(exitNotFound, "cairn: memory 99: not found: `cairn memories list --state all` lists all of them\n", append([]string{"memories"}, strings.Fields(what+" 99")...)...)
	}
	p.must("/remember =HYPERLINK(\"http://x\") is a formula\n", "chat")
	out := p.must("", "memories", "search", "black", "coffee")
	check.HasPrefix(t, "output, without a head", out, "3  fact  20")
	check.Contains(t, "output", out, "  Ada    Ada drinks black coffee  terminal:general\n")
	for args, first := range map[string]int64{"list --sort id": 1, "list": 5, "search drinks --sort id": 2} {
		check.Equal(t, args, p.memories(args)[0].ID, first)
	}
	records := check.Must(csv.NewReader(strings.NewReader(p.must("", "memories", "list", "--csv", "--sort", "id"))).ReadAll())(t)
	check.Len(t, "rows for a spreadsheet", records, 6)
	check.Len(t, "columns for a spreadsheet", records[0], 21)
	check.Equal(t, "first row", strings.Join(records[1][:4], " "), "1 terminal:general fact the standup is at 9:30")
	check.HasPrefix(t, "a formula by a stranger", records[5][3], "'=HYPER")
	check.Contains(t, "counts", p.must("", "memories", "stats"), "5 memories\n\nKIND\nfact  5  100 %\n", "ORIGIN\nperson  5  100 %\n",
		"CONVERSATION\nterminal:general  4  80 %\nterminal:garden   1  20 %\n", "PERSON\nAda     5  100 %\n")
	s := parse[memory.Statistics](t, p.must("", "memories", "stats", "--json", "--channel", "garden"))[0]
	check.Equal(t, "total", s.Total, 1)
	check.Equal(t, "first kind", s.Kind[0], (memory.Count{Name: "fact", Count: 1}))
	check.Len(t, "months", s.Month, 1)
	check.Equal(t, "memories of an unknown person", p.must("", "memories", "stats", "--about", "Zoe"), "no memories found\n")
}

func TestMemoriesChange(t *testing.T) {
	p := filled(t)
	for _, c := range []struct {
		do, state, again string
		pinned           bool
	}{
		{"forget", "forgotten", "forget memory 2: it is forgotten, so this changes nothing", false},
		{"restore", "active", "restore memory 2: it is active", false},
		{"pin", "active", "pinned", true},
		{"unpin", "active", "unpinned", false},
	} {
		got := p.memories(c.do + " 2")[0]
		check.Equal(t, c.do, fmt.Sprint(got.Content, got.State, got.Pinned), fmt.Sprint("Ada drinks green tea", c.state, c.pinned))
		shown := p.memories("show 2")[0]
		check.Equal(t, c.do, fmt.Sprint(shown.State, shown.Pinned), fmt.Sprint(c.state, c.pinned))
		again := p.run("", "memories", c.do, "2")
		if c.pinned || c.do == "unpin" {
			check.Equal(t, c.do+" twice", again.out, "Already "+c.again+": Ada drinks green tea\n")
		} else {
			check.Contains(t, c.do+" twice", again.err, c.again)
			check.Equal(t, c.do+" twice: exit code", again.code, exitFailed)
		}
	}
	p.must("", "memories", "forget", "2")
	p.fails(exitFailed, "pin memory 2: it is forgotten", "memories", "pin", "2")
	got := p.memories("list --state forgotten")
	check.Len(t, "forgotten memories", got, 1)
	check.Equal(t, "id of the forgotten memory", got[0].ID, 2)
	check.Contains(t, "output", p.must("", "memories", "list", "--state", "all"), "  forgotten\n")
	p.must("/remember ada DRINKS green tea!\n", "chat")
	p.fails(exitFailed, "another memory says the same", "memories", "restore", "2")
	check.Equal(t, "purging through a pipe", p.run("y\n", "memories", "purge", "2").code, exitUsage)
	check.Equal(t, "state of a purged one", p.memories("purge 2 --yes")[0].State, "purged")
	check.Len(t, "what is left", p.memories("list --state all"), 4)
	// Beside a running bot all work.
	l := p.start("chat", "--json")
	l.ask(`{"text":"/remember the cat is called Tom"}`, "Saved as memory")
	check.Len(t, "found", p.memories("search Tom"), 1)
	p.must("", "memories", "forget", "6")
	p.must("", "memories", "purge", "6", "--yes")
	out := p.must("", "memories", "import", p.write("beside.jsonl", p.must("", "memories", "export")))
	check.HasPrefix(t, "importing what it has", out, "imported 0 memories; 4 were there already")
	l.end()
}

func TestMemoriesShow(t *testing.T) {
	p := newFolder(t)
	p.must("hello\nI live in Oslo\nI live in Bergen\n", "chat")
	db := p.store()
	c := check.Must(db.Find(t.Context(), "terminal:general"))(t)
	tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 1 }})
	save := tools[slices.IndexFunc(tools, func(tool llm.Tool) bool { return tool.Name == "memory_save" })]
	for _, arguments := range []string{
		`{"content": "Ada lives in Oslo", "kind": "identity", "messages": [3]}`,
		`{"content": "Ada lives in Bergen", "kind": "identity", "messages": [5], "supersedes": 1}`,
		`{"content": "Ada is away in Bergen", "kind": "event", "messages": [5], "expires": "3000-01-01"}`,
	} {
		check.NoError(t, check.ErrorOf(save.Run(t.Context(), []byte(arguments))))
	}
	check.NoError(t, db.Close())
	p.prints("memories show", map[string][]string{
		"1": {"1  Ada lives in Oslo", "superseded  by (2) identity: Ada lives in Bergen", "Ada: I live in Oslo", "state       superseded", "saved by    assistant"},
		"2": {"2  Ada lives in Bergen", "supersedes  (1) identity: Ada lives in Oslo", "superseded by 2)", "I live in Bergen"},
		"3": {"expires     3000-01-02 00:00"},
	})
	got := p.memories("show 2")[0]
	check.Len(t, "chain", got.Chain, 2)
	check.Equal(t, "chain", fmt.Sprint(got.Chain[0].ID, got.Chain[0].SupersededBy, got.Chain[1].ID), "1 2 2")
	check.Len(t, "messages", got.Messages, 1)
	check.Equal(t, "message", got.Messages[0].Text, "I live in Bergen")
	alone := p.memories("show 3")[0]
	check.That(t, alone.Chain != nil && len(alone.Chain) == 0, "%+v", alone)
}

func TestMemoriesExport(t *testing.T) {
	p := filled(t)
	p.must("", "memories", "forget", "3")
	out := p.must("", "memories", "export")
	// JSON Lines come back elsewhere, and again without harm.
	other := newFolder(t)
	file := other.write("memories.jsonl", out)
	check.Equal(t, "output", other.must("", "memories", "import", file), "imported 4 memories; 0 were there already\n")
	check.Equal(t, "output", other.must("", "memories", "import", file), "imported 0 memories; 4 were there already\n")
	check.Equal(t, "output", other.must("", "memories", "export"), out)
	got := other.memories("search tea")
	check.Len(t, "memories", got, 1)
	check.Equal(t, "speaker", got[0].Speaker, "Ada")
	other.must("", "memories", "restore", "3")
	// A file is written once, for its owner alone.
	p.must("", "memories", "export", "all.jsonl")
	check.Equal(t, "text", p.read("all.jsonl"), out)
	check.Equal(t, "mode", check.Must(os.Stat(filepath.Join(p.dir, "all.jsonl")))(t).Mode().Perm(), 0o600)
	p.fails(exitUsage, "already exists", "memories", "export", "all.jsonl")
	t.Run("Markdown is for reading, and shows marks as they are", func(t *testing.T) {
		p.must("/remember use *snake_case* [here](x) <b>\n", "chat")
		out := p.must("", "memories", "export", "--format", "markdown", "--state", "current")
		check.HasPrefix(t, "blank lines", out, "# terminal:")
		check.Equal(t, "channels in the file", strings.Count(out, "\n\n# "), strings.Count(out, "# terminal:")-1)
		check.Contains(t, "output", out, "# terminal:general\n", "# terminal:garden\n", ") fact: the standup is at 9:30 (Ada, ", `use \*snake\_case\* \[here\](x) \<b>`)
		check.Lacks(t, "forgotten memories", out, "coffee")
	})
	got = parse[kept](t, p.must("", "memories", "export", "--channel", "garden"))
	check.Len(t, "memories of a channel", got, 1)
	check.Equal(t, "channel", got[0].Channel, "terminal:garden")
	for _, command := range []string{"export", "list"} {
		p.fails(exitNotFound, "cairn: channel nowhere: not found: known: terminal:garden, terminal:general\n", "memories", command, "--channel", "nowhere")
	}
}

func TestMemoriesImport(t *testing.T) {
	p := newFolder(t)
	good := `{"channel":"terminal:general","kind":"fact","content":"Ada rows","said_at":"2023-05-08T13:56:00Z"}` + "\n"
	for _, c := range []struct{ text, want string }{
		{good + "\n[]", "bad.jsonl:3: a line must be one JSON object"},
		{good + strings.Replace(good, `"fact"`, `"gossip"`, 1), `bad.jsonl:2: there is no kind "gossip"`},
		{strings.Replace(good, "terminal:general", "general", 1), `bad.jsonl:1: channel is "general": it must be the full name`},
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
		lines, err := readLines[memory.Exported](file, nil)
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
		again, err := memory.In(db).Import(t.Context(), all)
		check.Require(t, err == nil && again.Fresh == 0, "again: %+v, %v", again, err)
	})
}
