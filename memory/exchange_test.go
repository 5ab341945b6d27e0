package memory_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func export(t *testing.T, s *store.Store) (all []memory.Exported) {
	t.Helper()
	check.NoError(t, memory.In(s).Export(ctx, memory.Filter{State: "all"}, func(e memory.Exported, _ []chat.Message) error {
		all = append(all, e)
		return nil
	}))
	return all
}

// remembered returns memories without their numbers, which belong to one folder.
func remembered(all []memory.Exported) (lines []string) {
	content := map[int64]string{}
	for _, e := range all {
		content[e.ID] = e.Content
	}
	for _, e := range all {
		by := content[e.SupersededBy]
		e.ID = 0
		e.SupersededBy = 0
		e.Compaction = 0
		lines = append(lines, fmt.Sprintf("%+v superseded by %q", e, by))
	}
	return lines
}

// manyMemories returns a store with memories in all states.
func manyMemories(t *testing.T) *store.Store {
	c := imported(t, 9)
	s := c.Store()
	for n, city := range []string{"Oslo", "Bergen", "Turin"} {
		call(t, toolsAt(c, 9), "memory_save", fmt.Sprintf(`{"content": "Ann lives in %s", "kind": "identity", "messages": [%d, 7], "supersedes": %d, "about": "Bob"}`, city, n+1, n))
	}
	keep(t, c, "Ann", "Ann's \"dog\" is called Pepper & likes <tea>\nand the sea")
	keep(t, c, "Bob", "Bob has a boat", 1)
	keep(t, c, "Bob", "Bob had a car", 3)
	keep(t, find(t, s, `discord:1/1'%_"`), "Bob", "我喜欢猫")
	keep(t, find(t, s, "web:general"), "Bob", "Bob rows on Sundays")
	for n, city := range []string{"Bergen", "Turin"} {
		call(t, toolsAt(c, 9), "memory_save", fmt.Sprintf(`{"content": "Bob likes tea in %[1]s", "kind": "fact", "messages": [%[2]d], "about": "Bob", "attribute": "Work place", "value": "%[1]s",
			"since": "202%[2]d", "also": ["job", "city"]}`, city, 2*n+2))
	}
	storetest.Run(t, s, "UPDATE memories SET expires_at = 5 WHERE id = 5")
	check.NoError(t, errors.Join(memory.Of(c).Pin(ctx, 4, true), memory.Of(c).Forget(ctx, 6), memory.Of(c).Forget(ctx, 2)))
	return s
}

func wantImport(t *testing.T, s *store.Store, all []memory.Exported, want memory.ImportResult) {
	t.Helper()
	check.Equal(t, "import", check.Must(memory.In(s).Import(ctx, slices.Clone(all)))(t), want)
}

func TestExportAndImport(t *testing.T) {
	s := manyMemories(t)
	all := export(t, s)
	check.Len(t, "exported memories", all, 10)
	before := dump(t, s)
	wantImport(t, s, all, memory.ImportResult{Known: 10}) // where they are, nothing changes
	check.Equal(t, "writes", dump(t, s), before)
	t.Run("in a folder that has their messages they are what they were, and found", func(t *testing.T) {
		other := imported(t, 9)
		find(t, other.Store(), "terminal:before") // so that numbers differ
		wantImport(t, other.Store(), all, memory.ImportResult{Fresh: 10})
		check.Equal(t, "imported", strings.Join(remembered(export(t, other.Store())), "\n"), strings.Join(remembered(all), "\n"))
		for query, want := range map[string]int{"Pepper": 1, "Turin": 2, "Oslo": 0, "boat": 0, "car": 0} {
			check.Len(t, query, searched(t, other, query, 9), want)
		}
		check.Len(t, "the chain", check.Must(memory.In(other.Store()).Details(ctx, 1))(t).Chain, 3)
		check.NoError(t, memory.Of(other).Restore(ctx, 2))
		m := details(t, other.Store(), 2)
		check.That(t, m.State == "superseded" && m.SupersededBy == 3, "got %+v", m)
		wantImport(t, other.Store(), all, memory.ImportResult{Known: 10})
	})
	t.Run("in one that has not, messages that are missing, deleted, or another in their place are counted", func(t *testing.T) {
		other := storetest.OpenStore(t, t.TempDir())
		m := said(1, "something else")
		m.ID = "another"
		deliver(t, find(t, other, "terminal:general"), m)
		wantImport(t, other, all, memory.ImportResult{Fresh: 10, Lost: 10})
		check.Equal(t, "sources", number(t, other, "SELECT count(*) FROM memory_sources"), 0)
		c := imported(t, 9)
		remove(t, c, 7)
		wantImport(t, c.Store(), all, memory.ImportResult{Fresh: 10, Lost: 3})
		check.Equal(t, "sources", number(t, c.Store(), "SELECT count(*) FROM memory_sources WHERE message & 4294967295 = 7"), 0)
	})
	// What was purged comes back, and what was forgotten since stays so.
	check.NoError(t, errors.Join(memory.In(s).Purge(ctx, 4), memory.In(s).Forget(ctx, 3)))
	wantImport(t, s, all, memory.ImportResult{Fresh: 1, Known: 9})
	check.Equal(t, "state of the memory", details(t, s, 3).State, "forgotten")
}

func TestInvalidImportChangesNothing(t *testing.T) {
	good := memory.Exported{Memory: memory.Memory{Memory: store.Memory{ID: 1, Conversation: "terminal:general", Kind: "fact", Content: "Ann rows", SaidAt: storetest.Day}}}
	s := newTalk(t).Store()
	before := dump(t, s)
	for claim, spoil := range map[string]func(e *memory.Exported){
		"content is empty":     func(e *memory.Exported) { e.Content = " \n" },
		"at most 1000":         func(e *memory.Exported) { e.Content = strings.Repeat("x", memory.MaxContent+1) },
		`no kind "gossip"`:     func(e *memory.Exported) { e.Kind = "gossip" },
		"from 0 to 1":          func(e *memory.Exported) { e.Importance = 7 },
		`no state "lost"`:      func(e *memory.Exported) { e.State = "lost" },
		"said_at is missing":   func(e *memory.Exported) { e.SaidAt = time.Time{} },
		`channel is "nowhere"`: func(e *memory.Exported) { e.Conversation = "nowhere" },
		`by is "me"`:           func(e *memory.Exported) { e.By = "me" },
		`reach is "world"`:     func(e *memory.Exported) { e.Reach = "world" },
	} {
		bad := good
		bad.ID = 2
		bad.Content = "Bob rows"
		spoil(&bad)
		n, err := memory.In(s).Import(ctx, []memory.Exported{good, bad})
		at, ok := errors.AsType[*memory.ImportError](err)
		check.That(t, ok && at.Index == 1 && n == (memory.ImportResult{}), "%s: %+v, %v", claim, n, err)
		check.ErrorContains(t, claim, err, claim)
	}
	check.Equal(t, "writes", dump(t, s), before)
	good.Content = "The key is sk-" + strings.Repeat("a1B2", 12)
	wantImport(t, s, []memory.Exported{good}, memory.ImportResult{Fresh: 1})
	check.Lacks(t, "a secret is masked as in any memory", details(t, s, 1).Content, "a1B2a1B2")
}

func TestSQLViewMatchesProgram(t *testing.T) {
	s := manyMemories(t)
	moment := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return at.UTC().Format(time.DateTime)
	}
	var want []string
	got := storetest.Column[string](t, s, `SELECT concat_ws('|', id, channel, kind, content, CAST(importance * 10 AS INTEGER), speaker, about, saved_by, state, pinned, confirmed,
			said_at, saved_at, coalesce(expires_at, ''), coalesce(superseded_by, 0), coalesce(compaction, 0), coalesce(messages, ''),
			attribute, value, since, until, in_doubt) FROM memories_view ORDER BY id`)
	for id := range int64(len(got)) {
		m := details(t, s, id+1)
		sources := strings.Join(storetest.Map(m.Sources, func(seq int64) string { return fmt.Sprint("#", seq) }), " ")
		want = append(want, fmt.Sprintf("%d|%s|%s|%s|%d|%s|%s|%s|%s|%d|%d|%s|%s|%s|%d|%d|%s|%s|%s|%s|%s|0", m.ID, m.Conversation, m.Kind, m.Content, int(m.Importance*10), m.Speaker, m.About, m.By,
			m.State, map[bool]int{true: 1}[m.Pinned], m.Confirmed, moment(m.SaidAt), moment(m.SavedAt), moment(m.Expires), m.SupersededBy, m.Compaction, sources,
			m.Attribute, m.Value, m.Since, cmp.Or(m.Ended, m.Until)))
	}
	check.Len(t, "rows", got, 10)
	check.EqualAll(t, "the view", got, want)
	for _, statement := range []string{"DELETE FROM memories_view", "UPDATE memories_view SET content = 'x'", "INSERT INTO memories_view (content) VALUES ('x')"} {
		check.ErrorContains(t, statement, storetest.TryRun(t, s, statement), storetest.NotOfView)
	}
}

func TestImportOfTheSameWords(t *testing.T) {
	one := func(id int64, content, state string, by int64) memory.Exported {
		return memory.Exported{Memory: memory.Memory{Memory: store.Memory{
			ID: id, Conversation: "terminal:general", Kind: "fact", Content: content, State: state, SupersededBy: by, SaidAt: storetest.Day,
		}}}
	}
	imports := func(s *store.Store, all ...memory.Exported) memory.ImportResult {
		t.Helper()
		return check.Must(memory.In(s).Import(ctx, all))(t)
	}
	want := func(what string, s *store.Store, want ...string) {
		t.Helper()
		got := storetest.Map(export(t, s), func(e memory.Exported) string { return fmt.Sprint(e.Content, " ", e.State, " ", e.SupersededBy) })
		check.EqualAll(t, what, got, want)
	}
	s := newTalk(t).Store()
	for range 2 {
		imports(s, one(1, "Ann rows", "replaced", 0), one(2, "Ann rows", "active", 0), one(3, "Ann rows", "forgotten", 0))
		want("what a worker said again comes back", s, "Ann rows replaced 0", "Ann rows active 0", "Ann rows forgotten 0")
	}
	check.NoError(t, memory.In(s).Forget(ctx, 2))
	check.Equal(t, "a forgotten memory stays so", imports(s, one(2, "Ann rows", "active", 0)).Known, 1)
	s = newTalk(t).Store()
	imports(s, one(1, "Ann rows", "active", 0), one(2, "Ann swims", "superseded", 1), one(0, "Ann sings", "forgotten", 0), one(0, "Ann plays", "active", 0))
	want("what superseded what, in any order, where the file says so", s,
		"Ann rows active 0", "Ann swims superseded 1", "Ann sings forgotten 0", "Ann plays active 0")
	// Whatever a file says of what superseded what, the database is sound.
	s = newTalk(t).Store()
	elsewhere := one(6, "Ann dives", "active", 0)
	elsewhere.Conversation = "terminal:other"
	imports(s, one(1, "Ann rows", "superseded", 2), one(2, "Ann swims", "superseded", 1), one(3, "Ann rows", "superseded", 3),
		one(4, "Ann sings", "active", 5), one(5, "Ann plays", "superseded", 6), elsewhere)
	check.Equal(t, "links", number(t, s, "SELECT count(superseded_by) * 10 + max(superseded_by) FROM memories"), 12)
	check.Len(t, "problems", check.Must(s.Upkeep().Check(ctx))(t), 0)
}
