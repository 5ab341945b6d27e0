package memory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
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
		e.ID, e.SupersededBy, e.Compaction = 0, 0, 0
		lines = append(lines, fmt.Sprintf("%+v superseded by %q", e, by))
	}
	return lines
}

// manyMemories returns a store with memories in all states.
func manyMemories(t *testing.T) *store.Store {
	c := storetest.Imported(t, 9)
	s := c.Store()
	tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 9 }})
	for n, city := range []string{"Oslo", "Bergen", "Turin"} {
		check.Must(storetest.Call(tools, "memory_save", fmt.Sprintf(`{"content": "Ann lives in %s", "kind": "identity", "messages": [%d, 7], "supersedes": %d, "about": "Bob"}`, city, n+1, n)))(t)
	}
	storetest.Keep(t, c, "Ann", "Ann's \"dog\" is called Pepper & likes <tea>\nand the sea")
	storetest.Keep(t, c, "Bob", "Bob has a boat", 1)
	storetest.Keep(t, c, "Bob", "Bob had a car", 3)
	storetest.Keep(t, storetest.Find(t, s, `discord:1/1'%_"`), "Bob", "我喜欢猫")
	storetest.Keep(t, storetest.Find(t, s, "web:general"), "Bob", "Bob rows on Sundays")
	storetest.Run(t, s, "UPDATE memories SET expires_at = 5 WHERE id = 5")
	for _, err := range []error{memory.Of(c).Pin(ctx, 4, true), memory.Of(c).Forget(ctx, 6), memory.Of(c).Forget(ctx, 2)} {
		check.NoError(t, err)
	}
	return s
}

func TestExportAndImport(t *testing.T) {
	s := manyMemories(t)
	all := export(t, s)
	check.Len(t, "exported memories", all, 8)
	before := storetest.Dump(t, s)
	t.Run("where they are, nothing changes", func(t *testing.T) {
		check.Equal(t, "answer", check.Must(memory.In(s).Import(ctx, slices.Clone(all)))(t), (memory.ImportResult{Known: 8}))
		check.Equal(t, "writes", storetest.Dump(t, s), before)
	})
	t.Run("in a folder that has their messages they are what they were, and found", func(t *testing.T) {
		other := storetest.Imported(t, 9)
		storetest.Find(t, other.Store(), "terminal:before") // so that numbers differ
		n, err := memory.In(other.Store()).Import(ctx, slices.Clone(all))
		check.Require(t, err == nil && n == (memory.ImportResult{Fresh: 8}), "%+v, %v", n, err)
		if got, want := remembered(export(t, other.Store())), remembered(all); !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for query, want := range map[string]int{"Pepper": 1, "Turin": 1, "Oslo": 0, "boat": 0, "car": 0} {
			check.Len(t, query, check.Must(storetest.Search(memory.Of(other), ctx, query, 9))(t), want)
		}
		check.Equal(t, "answer", len(check.Must(memory.In(other.Store()).Details(ctx, 1))(t).Chain), 3)
		check.NoError(t, memory.Of(other).Restore(ctx, 2))
		if m, err := memory.In(other.Store()).Details(ctx, 2); err != nil || m.State != "superseded" || m.SupersededBy != 3 {
			t.Errorf("%+v, %v", m, err)
		}
		again := check.Must(memory.In(other.Store()).Import(ctx, slices.Clone(all)))(t)
		check.Equal(t, "imported again", again, (memory.ImportResult{Known: 8}))
	})
	t.Run("in one that has not, their messages are counted, and another that stands in their place is not taken for them", func(t *testing.T) {
		other := storetest.OpenStore(t, t.TempDir())
		c := storetest.Find(t, other, "terminal:general")
		m := storetest.Said(1, "something else")
		m.ID = "another"
		storetest.Deliver(t, c, m)
		n := check.Must(memory.In(other).Import(ctx, slices.Clone(all)))(t)
		check.Equal(t, "new memories", n.Fresh, 8)
		check.Equal(t, "rejected memories", n.Lost, 8)
		check.Equal(t, "sources", storetest.Number(t, other, "SELECT count(*) FROM memory_sources"), 0)
	})
	t.Run("a message that was deleted there is none they came from", func(t *testing.T) {
		other := storetest.Imported(t, 9)
		storetest.Remove(t, other, 7)
		n := check.Must(memory.In(other.Store()).Import(ctx, slices.Clone(all)))(t)
		check.Equal(t, "new memories", n.Fresh, 8)
		check.Equal(t, "rejected memories", n.Lost, 3)
		check.Equal(t, "sources", storetest.Number(t, other.Store(), "SELECT count(*) FROM memory_sources WHERE message & 4294967295 = 7"), 0)
	})
	t.Run("what was purged comes back, and what was forgotten since stays so", func(t *testing.T) {
		check.NoError(t, memory.In(s).Purge(ctx, 4))
		check.NoError(t, memory.In(s).Forget(ctx, 3))
		check.Equal(t, "answer", check.Must(memory.In(s).Import(ctx, slices.Clone(all)))(t), (memory.ImportResult{Fresh: 1, Known: 7}))
		check.Equal(t, "state of the memory", storetest.Memory(t, s, 3).State, "forgotten")
	})
}

func TestInvalidImportChangesNothing(t *testing.T) {
	good := memory.Exported{Memory: memory.Memory{ID: 1, Conversation: "terminal:general", Kind: "fact", Content: "Ann rows", SaidAt: storetest.Day}}
	c := storetest.NewConversation(t)
	before := storetest.Dump(t, c.Store())
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
		t.Run(claim, func(t *testing.T) {
			bad := good
			bad.ID, bad.Content = 2, "Bob rows"
			spoil(&bad)
			n, err := memory.In(c.Store()).Import(ctx, []memory.Exported{good, bad})
			var at *memory.ImportError
			if !errors.As(err, &at) || at.Index != 1 || !strings.Contains(err.Error(), claim) || n != (memory.ImportResult{}) {
				t.Errorf("%+v, %v", n, err)
			}
			check.Equal(t, "writes", storetest.Dump(t, c.Store()), before)
		})
	}
	t.Run("a secret is masked as in any memory", func(t *testing.T) {
		secret := good
		secret.Content = "The key is sk-" + strings.Repeat("a1B2", 12)
		check.Must(memory.In(c.Store()).Import(ctx, []memory.Exported{secret}))(t)
		check.Lacks(t, "content", storetest.Memory(t, c.Store(), 1).Content, "a1B2a1B2")
	})
}

func TestSQLViewMatchesProgram(t *testing.T) {
	s := manyMemories(t)
	moment := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return at.UTC().Format(time.DateTime)
	}
	var got, want []string
	check.NoError(t, s.View(ctx, func(tx *store.Tx) (err error) {
		got, err = store.Column[string](tx, `SELECT concat_ws('|', id, channel, kind, content, importance, speaker, about, saved_by, state, pinned, confirmed,
			said_at, saved_at, coalesce(expires_at, ''), coalesce(superseded_by, 0), coalesce(compaction, 0), coalesce(messages, '')) FROM memories_view ORDER BY id`)
		return err
	}))
	for id := range int64(len(got)) {
		m := storetest.Memory(t, s, id+1)
		sources := strings.Trim(strings.ReplaceAll(fmt.Sprint(m.Sources), " ", " #"), "[]")
		if sources != "" {
			sources = "#" + sources
		}
		pinned := map[bool]int{true: 1}[m.Pinned]
		want = append(want, strings.Join([]string{
			fmt.Sprint(m.ID), m.Conversation, m.Kind, m.Content, fmt.Sprintf("%.1f", m.Importance), m.Speaker, m.About, m.By, m.State, fmt.Sprint(pinned), fmt.Sprint(m.Confirmed),
			moment(m.SaidAt), moment(m.SavedAt), moment(m.Expires), fmt.Sprint(m.SupersededBy), fmt.Sprint(m.Compaction), sources,
		}, "|"))
	}
	check.Len(t, "rows", got, 8)
	check.EqualAll(t, "the view", got, want)
	for _, statement := range []string{"DELETE FROM memories_view", "UPDATE memories_view SET content = 'x'", "INSERT INTO memories_view (content) VALUES ('x')"} {
		if err := s.Update(ctx, func(tx *store.Tx) error { return check.ErrorOf(tx.Exec(statement)) }); err == nil {
			t.Errorf("%s is writable", statement)
		}
	}
}

func TestImportOfTheSameWords(t *testing.T) {
	said := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	one := func(id int64, content, state string, by int64) memory.Exported {
		return memory.Exported{Memory: memory.Memory{ID: id, Conversation: "terminal:general", Kind: "fact", Content: content, State: state, SupersededBy: by, SaidAt: said}}
	}
	states := func(t *testing.T, s *store.Store) (found []string) {
		for _, e := range export(t, s) {
			found = append(found, e.Content+" "+e.State)
		}
		return found
	}
	t.Run("what a worker said again of what the extractive summarizer had noted comes back too", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		for range 2 {
			check.Must(memory.In(s).Import(ctx, []memory.Exported{one(1, "Ann rows", "replaced", 0), one(2, "Ann rows", "active", 0), one(3, "Ann rows", "forgotten", 0)}))(t)
			check.EqualAll(t, "result", states(t, s), []string{"Ann rows replaced", "Ann rows active", "Ann rows forgotten"})
		}
		check.NoError(t, memory.In(s).Forget(ctx, 2))
		check.Equal(t, "a forgotten memory is back", check.Must(memory.In(s).Import(ctx, []memory.Exported{one(2, "Ann rows", "active", 0)}))(t).Known, 1)
	})
	t.Run("what superseded what is kept in any order, and only where the file says so", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		check.Must(memory.In(s).Import(ctx, []memory.Exported{
			one(1, "Ann rows", "active", 0), one(2, "Ann swims", "superseded", 1), one(0, "Ann sings", "forgotten", 0), one(0, "Ann plays", "active", 0),
		}))(t)
		var links []int64
		for _, e := range export(t, s) {
			links = append(links, e.SupersededBy)
		}
		check.EqualAll(t, "links", links, []int64{0, 1, 0, 0})
	})
	t.Run("whatever a file says of what superseded what, the database is sound", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		elsewhere := one(6, "Ann dives", "active", 0)
		elsewhere.Conversation = "terminal:other"
		check.Must(memory.In(s).Import(ctx, []memory.Exported{
			one(1, "Ann rows", "superseded", 2), one(2, "Ann swims", "superseded", 1), one(3, "Ann rows", "superseded", 3), one(4, "Ann sings", "active", 5),
			one(5, "Ann plays", "superseded", 6), elsewhere,
		}))(t)
		check.Equal(t, "links", storetest.Number(t, s, "SELECT sum(superseded_by IS NOT NULL) * 10 + max(superseded_by) FROM memories"), 12)
		check.Len(t, "problems", check.Must(s.Upkeep().Check(ctx))(t), 0)
	})
}
