package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/memory"
	"cairn/store"
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
	p := newFolder(t)
	p.must("/remember the standup is at 9:30\n/remember Ada drinks green tea\n/remember Ada drinks black coffee\n", "chat")
	p.must("/remember the garden has 9 beds\n", "chat", "--channel", "garden")
	return p
}

// listed returns the memories that `cairn memories list` lists.
func (p folder) listed(args ...string) []kept {
	p.t.Helper()
	return parse[kept](p.t, p.must("", append([]string{"memories", "list", "--json"}, args...)...))
}

func TestMemoriesCommand(t *testing.T) {
	p := filled(t)
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
			check.Len(t, c.args, p.listed(strings.Fields(c.args)...), c.want)
		}
		if r := p.run("", "memories", "list", "--limit", "1"); !strings.Contains(r.err, "3 more") || !strings.HasSuffix(r.out, "  Ada    the garden has 9 beds  terminal:garden\n") {
			t.Errorf("%q, %q", r.out, r.err)
		}
		check.Equal(t, "errors beyond the end", p.run("", "memories", "list", "--offset", "4").err, "no more: there are 4 in all\n")
	})
	t.Run("mistakes say what there is", func(t *testing.T) {
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
			r := p.run("", append([]string{"memories"}, append(strings.Fields(what), "99")...)...)
			check.Equal(t, what+": exit code", r.code, exitNotFound)
			check.Equal(t, what+": errors", r.err, "cairn: memory 99: not found: `cairn memories list --state all` shows what there is\n")
		}
	})
}

func TestMemoriesChangeCommands(t *testing.T) {
	p := filled(t)
	t.Run("forgotten, restored, pinned and unpinned they say so, and twice is told", func(t *testing.T) {
		for _, c := range []struct {
			do, state, again string
			pinned           bool
		}{
			{"forget", "forgotten", "forget memory 2: it is forgotten, so this changes nothing", false},
			{"restore", "active", "restore memory 2: it is active", false},
			{"pin", "active", "", true},
			{"unpin", "active", "", false},
		} {
			got := parse[kept](t, p.must("", "memories", c.do, "2", "--json"))
			if len(got) != 1 || got[0].State != c.state || got[0].Pinned != c.pinned || got[0].Content != "Ada drinks green tea" {
				t.Errorf("%s: %+v", c.do, got)
			}
			shown := parse[kept](t, p.must("", "memories", "show", "2", "--json"))[0]
			check.Equal(t, c.do, shown.State, c.state)
			check.Equal(t, c.do+": pinned", shown.Pinned, c.pinned)
			if r := p.run("", "memories", c.do, "2"); c.again != "" && (r.code != exitFailed || !strings.Contains(r.err, c.again)) {
				t.Errorf("%s again: exit code %d, %q", c.do, r.code, r.err)
			}
		}
		p.must("", "memories", "forget", "2")
		p.fails(exitFailed, "pin memory 2: it is forgotten", "memories", "pin", "2")
		got := p.listed("--state", "forgotten")
		check.Len(t, "forgotten memories", got, 1)
		check.Equal(t, "id of the forgotten memory", got[0].ID, 2)
		check.Contains(t, "output", p.must("", "memories", "list", "--state", "all"), "  forgotten\n")
	})
	t.Run("restored where another says the same, it is refused", func(t *testing.T) {
		p.must("/remember ada DRINKS green tea!\n", "chat")
		p.fails(exitFailed, "another memory says the same", "memories", "restore", "2")
	})
	t.Run("purged they are gone", func(t *testing.T) {
		if r := p.run("y\n", "memories", "purge", "2"); r.code != exitUsage {
			t.Errorf("through a pipe: exit code %d, %q", r.code, r.err)
		}
		got := parse[kept](t, p.must("", "memories", "purge", "2", "--yes", "--json"))
		check.Len(t, "output", got, 1)
		check.Equal(t, "state", got[0].State, "purged")
		check.Equal(t, "output", len(p.listed("--state", "all")), 4)
	})
	t.Run("beside a running bot all but import work", func(t *testing.T) {
		l := p.start("chat", "--json")
		l.say(`{"text":"/remember the cat is called Tom"}`)
		l.until("I will remember that")
		check.Equal(t, "output", len(parse[kept](t, p.must("", "memories", "search", "Tom", "--json"))), 1)
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
	db := check.Must(store.Open(t.Context(), store.Options{Dir: filepath.Join(p.dir, "data")}))(t)
	c := check.Must(db.Find(t.Context(), "terminal:general"))(t)
	var said []int64 // what Ada said
	for _, r := range parse[chat.Record](t, p.must("", "transcript", "--json")) {
		if r.Author == "Ada" {
			said = append(said, r.Seq)
		}
	}
	for n, arguments := range []string{
		fmt.Sprintf(`{"content": "Ada lives in Oslo", "kind": "identity", "messages": [%d]}`, said[1]),
		fmt.Sprintf(`{"content": "Ada lives in Bergen", "kind": "identity", "messages": [%d], "supersedes": 1}`, said[2]),
		fmt.Sprintf(`{"content": "Ada is away", "kind": "event", "messages": [%d], "expires": "3000-01-01"}`, said[2]),
	} {
		for _, tool := range memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 1 }}) {
			if tool.Name != "memory_save" {
				continue
			}
			if answer, err := tool.Run(t.Context(), []byte(arguments)); err != nil {
				t.Fatal(n, answer, err)
			}
		}
	}
	check.NoError(t, db.Close())
	t.Run("it shows the messages and the chain, both ways", func(t *testing.T) {
		for id, want := range map[string][]string{
			"1": {"1  Ada lives in Oslo", "superseded  by (2) identity: Ada lives in Bergen", "Ada: I live in Oslo", "state       superseded", "saved by    assistant"},
			"2": {"2  Ada lives in Bergen", "supersedes  (1) identity: Ada lives in Oslo", "superseded by 2)", "I live in Bergen"},
			"3": {"expires     3000-01-02 00:00"},
		} {
			out := p.must("", "memories", "show", id)
			check.Contains(t, id, out, want...)
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
