package main

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/llm"
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
	Messages     []chat.Record
	Chain        []kept
}

// filled returns a folder with some memories.
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
	t.Parallel()
	p := filled(t)
	for args, want := range map[string]int{
		"": 4, "--channel garden": 1, "--kind fact": 4, "--kind goal": 0, "--state forgotten": 0, "--state all": 4, "--since 1h": 4, "--since 2199-01-01": 0,
		"--until 2020-01": 0, "--until 1h": 0, "--about ada": 4, "--about Bo": 0, "--limit 3": 3, "--limit 3 --offset 3": 1, "--offset 9": 0,
	} {
		check.Len(t, args, p.memories("list "+args), want)
	}
	r := p.run("", "memories", "list", "--limit", "1")
	check.Contains(t, "output and errors", r.out+r.err, "  Ada    the garden has 9 beds  terminal:garden\n", "3 more")
	check.Equal(t, "errors beyond the end", p.run("", "memories", "list", "--offset", "4").err, "no more: there are 4 in all\n")
	for args, want := range map[string]string{
		"list --kind gossip": "must be one of identity, goal", "list --state lost": "must be one of active, expired", "list --since May": "invalid time",
		"list --until May": "--until: invalid time \"May\"", "list --sort beauty": "must be one of confirmed, expires", "list --csv --json": "--csv or --json", "stats tea": "accepts 0 arg(s)",
		"list --limit -1": "at least 1", "list --offset -1": "at least 0", "show tea": "not a memory's number", "export --format csv": "must be jsonl or markdown",
		"purge 1": "confirm with --yes", "pin": "accepts 1 arg(s)", "pin 1 2": "accepts 1 arg(s)", "list tea": "accepts 0 arg(s)", "search": "requires at least 1 arg(s)",
		"list --limit many": `invalid argument "many" for "--limit" flag`,
	} {
		p.fails(exitUsage, want, append([]string{"memories"}, strings.Fields(args)...)...)
	}
	for _, what := range []string{"show", "forget", "restore", "pin", "unpin", "purge --yes"} {
		p.fails(exitNotFound, "cairn: memory 99: not found: `cairn memories list --state all` shows what there is\n", append([]string{"memories"}, strings.Fields(what+" 99")...)...)
	}
}

func TestMemoriesTable(t *testing.T) {
	t.Parallel()
	p := filled(t)
	p.must("/remember =HYPERLINK(\"http://x\") is a formula\n", "chat")
	out := p.must("", "memories", "search", "black", "coffee")
	check.HasPrefix(t, "output, without a head", out, "3  fact  20")
	check.Contains(t, "output", out, "  Ada    Ada drinks black coffee  terminal:general\n")
	for args, first := range map[string]int64{"list --sort id": 1, "list": 5, "search drinks --sort id": 2} {
		check.Equal(t, args, p.memories(args)[0].ID, first)
	}
	records := check.Must(csv.NewReader(strings.NewReader(p.must("", "memories", "list", "--csv", "--sort", "id"))).ReadAll())(t)
	check.Len(t, "rows for a spreadsheet", records, 6)
	check.Len(t, "columns for a spreadsheet", records[0], 16)
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
	t.Parallel()
	p := filled(t)
	for _, c := range []struct {
		do, state, again string
		pinned           bool
	}{
		{"forget", "forgotten", "forget memory 2: it is forgotten, so this changes nothing", false},
		{"restore", "active", "restore memory 2: it is active", false},
		{"pin", "active", "", true},
		{"unpin", "active", "", false},
	} {
		got := p.memories(c.do + " 2")[0]
		check.Equal(t, c.do, fmt.Sprint(got.Content, got.State, got.Pinned), fmt.Sprint("Ada drinks green tea", c.state, c.pinned))
		shown := p.memories("show 2")[0]
		check.Equal(t, c.do, fmt.Sprint(shown.State, shown.Pinned), fmt.Sprint(c.state, c.pinned))
		if c.again != "" {
			p.fails(exitFailed, c.again, "memories", c.do, "2")
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
	t.Run("beside a running bot all but import work", func(t *testing.T) {
		l := p.start("chat", "--json")
		l.say(`{"text":"/remember the cat is called Tom"}`)
		l.until("I will remember that")
		check.Len(t, "found", p.memories("search Tom"), 1)
		p.must("", "memories", "forget", "6")
		p.must("", "memories", "purge", "6", "--yes")
		exported := p.must("", "memories", "export")
		p.fails(exitInUse, "", "memories", "import", p.write("beside.jsonl", exported))
		l.end()
	})
}

func TestMemoriesShow(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.must("hello\nI live in Oslo\nI live in Bergen\n", "chat")
	db := p.store()
	c := check.Must(db.Find(t.Context(), "terminal:general"))(t)
	tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 1 }})
	save := tools[slices.IndexFunc(tools, func(tool llm.Tool) bool { return tool.Name == "memory_save" })]
	for _, arguments := range []string{
		`{"content": "Ada lives in Oslo", "kind": "identity", "messages": [3]}`,
		`{"content": "Ada lives in Bergen", "kind": "identity", "messages": [5], "supersedes": 1}`,
		`{"content": "Ada is away", "kind": "event", "messages": [5], "expires": "3000-01-01"}`,
	} {
		check.NoError(t, check.ErrorOf(save.Run(t.Context(), []byte(arguments))))
	}
	check.NoError(t, db.Close())
	for id, want := range map[string][]string{
		"1": {"1  Ada lives in Oslo", "superseded  by (2) identity: Ada lives in Bergen", "Ada: I live in Oslo", "state       superseded", "saved by    assistant"},
		"2": {"2  Ada lives in Bergen", "supersedes  (1) identity: Ada lives in Oslo", "superseded by 2)", "I live in Bergen"},
		"3": {"expires     3000-01-02 00:00"},
	} {
		check.Contains(t, id, p.must("", "memories", "show", id), want...)
	}
	got := p.memories("show 2")[0]
	check.Len(t, "chain", got.Chain, 2)
	check.Equal(t, "chain", fmt.Sprint(got.Chain[0].ID, got.Chain[0].SupersededBy, got.Chain[1].ID), "1 2 2")
	check.Len(t, "messages", got.Messages, 1)
	check.Equal(t, "message", got.Messages[0].Text, "I live in Bergen")
	alone := p.memories("show 3")[0]
	check.That(t, alone.Chain != nil && len(alone.Chain) == 0, "%+v", alone)
}
