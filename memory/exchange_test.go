package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/internal/check"
)

func export(t *testing.T, s *Store) (all []Exported) {
	t.Helper()
	check.NoError(t, MemoriesIn(s).Export(ctx, Filter{State: "all"}, func(e Exported, _ []chat.Message) error {
		all = append(all, e)
		return nil
	}))
	return all
}

// remembered is what memories say, without what is another folder's: their numbers.
func remembered(all []Exported) (lines []string) {
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

// much is a store in which memories are in all states.
func much(t *testing.T) *Store {
	c := imported(t, 9)
	s := c.store
	tools := MemoriesOf(c).Tools(ToolOptions{Turn: func() int64 { return 9 }})
	for n, city := range []string{"Oslo", "Bergen", "Turin"} {
		check.Must(call(tools, "memory_save", fmt.Sprintf(`{"content": "Ann lives in %s", "kind": "identity", "messages": [%d, 7], "supersedes": %d, "about": "Bob"}`, city, n+1, n)))(t)
	}
	keep(t, c, "Ann", "Ann's \"dog\" is called Pepper & likes <tea>\nand the sea")
	keep(t, c, "Bob", "Bob has a boat", 1)
	keep(t, c, "Bob", "Bob had a car", 3)
	keep(t, find(t, s, `discord:1/1'%_"`), "Bob", "我喜欢猫")
	run(t, s, "UPDATE memories SET expires_at = 5 WHERE id = 5")
	for _, err := range []error{MemoriesOf(c).Pin(ctx, 4, true), MemoriesOf(c).Forget(ctx, 6), MemoriesOf(c).Forget(ctx, 2)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestMemoriesLeaveAndComeBack(t *testing.T) {
	s := much(t)
	all := export(t, s)
	if len(all) != 7 {
		t.Fatalf("%d memories leave", len(all))
	}
	before := dump(t, s)
	t.Run("where they are, nothing changes", func(t *testing.T) {
		check.Equal(t, "the result", check.Must(MemoriesIn(s).Import(ctx, slices.Clone(all)))(t), (Brought{Known: 7}))
		check.Equal(t, "something is written", dump(t, s), before)
	})
	t.Run("in a folder that has their messages they are what they were, and found", func(t *testing.T) {
		other := imported(t, 9)
		find(t, other.store, "terminal:before") // so that numbers differ
		n, err := MemoriesIn(other.store).Import(ctx, slices.Clone(all))
		if err != nil || n != (Brought{Fresh: 7}) {
			t.Fatalf("%+v, %v", n, err)
		}
		if got, want := remembered(export(t, other.store)), remembered(all); !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for query, want := range map[string]int{"Pepper": 1, "Turin": 1, "Oslo": 0, "boat": 0, "car": 0} {
			if found, err := MemoriesOf(other).Search(ctx, query, 9); err != nil || len(found) != want {
				t.Errorf("%s: %+v, %v", query, found, err)
			}
		}
		check.Equal(t, "the result", len(check.Must(MemoriesIn(other.store).Chain(ctx, 1))(t)), 3)
		check.NoError(t, MemoriesOf(other).Restore(ctx, 2))
		if m, _, err := MemoriesIn(other.store).Get(ctx, 2); err != nil || m.State != "superseded" || m.SupersededBy != 3 {
			t.Errorf("%+v, %v", m, err)
		}
		again, err := MemoriesIn(other.store).Import(ctx, slices.Clone(all))
		if err != nil || again != (Brought{Known: 7}) {
			t.Errorf("again: %+v, %v", again, err)
		}
	})
	t.Run("in one that has not, their messages are counted, and another that stands in their place is not taken for them", func(t *testing.T) {
		other := openStore(t, t.TempDir())
		c := find(t, other, "terminal:general")
		m := said(1, "something else")
		m.ID = "another"
		deliver(t, c, m)
		n, err := MemoriesIn(other).Import(ctx, slices.Clone(all))
		if err != nil || n.Fresh != 7 || n.Lost != 8 {
			t.Errorf("%+v, %v", n, err)
		}
		check.Equal(t, "sources", number(t, other, "SELECT count(*) FROM memory_sources"), 0)
	})
	t.Run("a message that was deleted there is none they came from", func(t *testing.T) {
		other := imported(t, 9)
		remove(t, other, 7)
		if n, err := MemoriesIn(other.store).Import(ctx, slices.Clone(all)); err != nil || n.Fresh != 7 || n.Lost != 3 {
			t.Errorf("%+v, %v", n, err)
		}
		check.Equal(t, "sources", number(t, other.store, "SELECT count(*) FROM memory_sources WHERE message & 4294967295 = 7"), 0)
	})
	t.Run("what was purged comes back, and what was forgotten since stays so", func(t *testing.T) {
		check.NoError(t, MemoriesIn(s).Purge(ctx, 4))
		check.NoError(t, MemoriesIn(s).Forget(ctx, 3))
		check.Equal(t, "the result", check.Must(MemoriesIn(s).Import(ctx, slices.Clone(all)))(t), (Brought{Fresh: 1, Known: 6}))
		if m, _, err := MemoriesIn(s).Get(ctx, 3); err != nil || m.State != "forgotten" {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

func TestWhatCannotBeImportedChangesNothing(t *testing.T) {
	good := Exported{Memory: Memory{ID: 1, Conversation: "terminal:general", Kind: "fact", Content: "Ann rows", SaidAt: day}}
	c := newConversation(t)
	before := dump(t, c.store)
	for claim, spoil := range map[string]func(e *Exported){
		"content is empty":            func(e *Exported) { e.Content = " \n" },
		"at most 1000":                func(e *Exported) { e.Content = strings.Repeat("x", maxContent+1) },
		`no kind "gossip"`:            func(e *Exported) { e.Kind = "gossip" },
		"from 0 to 1":                 func(e *Exported) { e.Importance = 7 },
		`no state "lost"`:             func(e *Exported) { e.State = "lost" },
		"said_at is missing":          func(e *Exported) { e.SaidAt = time.Time{} },
		`channel is "nowhere"`:        func(e *Exported) { e.Conversation = "nowhere" },
		`channel is "terminal:"`:      func(e *Exported) { e.Conversation = "terminal:" },
		`by is "me"`:                  func(e *Exported) { e.By = "me" },
		`reach is "world"`:            func(e *Exported) { e.Reach = "world" },
		"the id 1 is that":            func(e *Exported) { e.ID = 1 },
		"must be numbers":             func(e *Exported) { e.ID = -1 },
		"must be names":               func(e *Exported) { e.Speaker = "\xff" },
		"no time that can be kept":    func(e *Exported) { e.Expires = time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"leads round in a circle":     func(e *Exported) { e.ID, e.SupersededBy = 2, 2 },
		"which is of another channel": func(e *Exported) { e.SupersededBy, e.Conversation = 1, "terminal:other" },
	} {
		t.Run(claim, func(t *testing.T) {
			bad := good
			bad.ID, bad.Content = 2, "Bob rows"
			spoil(&bad)
			n, err := MemoriesIn(c.store).Import(ctx, []Exported{good, bad})
			var at *ImportError
			if !errors.As(err, &at) || at.Index != 1 || !strings.Contains(err.Error(), claim) || n != (Brought{}) {
				t.Errorf("%+v, %v", n, err)
			}
			check.Equal(t, "something is written", dump(t, c.store), before)
		})
	}
	t.Run("a secret is masked as in any memory", func(t *testing.T) {
		secret := good
		secret.Content = "The key is sk-" + strings.Repeat("a1B2", 12)
		check.Must(MemoriesIn(c.store).Import(ctx, []Exported{secret}))(t)
		if m, _, err := MemoriesIn(c.store).Get(ctx, 1); err != nil || strings.Contains(m.Content, "a1B2a1B2") {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

func TestTheViewShowsWhatTheProgramDoes(t *testing.T) {
	s := much(t)
	rows := check.Must(s.read.Query("SELECT id, channel, kind, content, importance, speaker, about, saved_by, state, pinned, confirmed, said_at, saved_at, coalesce(expires_at, ''), coalesce(superseded_by, 0), coalesce(compaction, 0), coalesce(messages, '') FROM memories_view ORDER BY id"))(t)
	defer rows.Close()
	n := 0
	for rows.Next() {
		var m Memory
		var saidAt, savedAt, expires, messages string
		check.NoError(t, rows.Scan(&m.ID, &m.Conversation, &m.Kind, &m.Content, &m.Importance, &m.Speaker, &m.About, &m.By, &m.State, &m.Pinned, &m.Confirmed,
			&saidAt, &savedAt, &expires, &m.SupersededBy, &m.Compaction, &messages))
		want, _, err := MemoriesIn(s).Get(ctx, m.ID)
		if err != nil {
			t.Fatal(err)
		}
		moment := func(at time.Time) string {
			if at.IsZero() {
				return ""
			}
			return at.UTC().Format(time.DateTime)
		}
		var sources []string
		for _, seq := range want.Sources {
			sources = append(sources, fmt.Sprint("#", seq))
		}
		got := fmt.Sprintf("%+v %s %s %s %s", m, saidAt, savedAt, expires, messages)
		times := fmt.Sprintf(" %s %s %s %s", moment(want.SaidAt), moment(want.SavedAt), moment(want.Expires), strings.Join(sources, " "))
		want.SaidAt, want.SavedAt, want.Expires, want.Sources, want.SpeakerID, want.AboutID, want.Reach = time.Time{}, time.Time{}, time.Time{}, nil, "", "", ""
		check.Equal(t, "the result", got, fmt.Sprintf("%+v", want)+times)
		n++
	}
	if err := rows.Err(); err != nil || n != 7 {
		t.Errorf("%d rows, %v", n, err)
	}
	for _, statement := range []string{"DELETE FROM memories_view", "UPDATE memories_view SET content = 'x'", "INSERT INTO memories_view (content) VALUES ('x')"} {
		if _, err := s.write.Exec(statement); err == nil {
			t.Errorf("%s: it can be written", statement)
		}
	}
}

func TestImportOfTheSameWords(t *testing.T) {
	said := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	one := func(id int64, content, state string, by int64) Exported {
		return Exported{Memory: Memory{ID: id, Conversation: "terminal:general", Kind: "fact", Content: content, State: state, SupersededBy: by, SaidAt: said}}
	}
	states := func(t *testing.T, s *Store) (found []string) {
		for _, e := range export(t, s) {
			found = append(found, e.Content+" "+e.State)
		}
		return found
	}
	t.Run("what a worker said again of what the extractive summarizer had noted comes back too", func(t *testing.T) {
		s := openStore(t, t.TempDir())
		for range 2 {
			check.Must(MemoriesIn(s).Import(ctx, []Exported{one(1, "Ann rows", "replaced", 0), one(2, "Ann rows", "active", 0), one(3, "Ann rows", "forgotten", 0)}))(t)
			if got, want := states(t, s), []string{"Ann rows replaced", "Ann rows active", "Ann rows forgotten"}; !slices.Equal(got, want) {
				t.Errorf("%q", got)
			}
		}
		check.NoError(t, MemoriesIn(s).Forget(ctx, 2))
		check.Equal(t, "what was forgotten since is back", check.Must(MemoriesIn(s).Import(ctx, []Exported{one(2, "Ann rows", "active", 0)}))(t).Known, 1)
	})
	t.Run("nothing takes its own place, however often a file says the same", func(t *testing.T) {
		s := openStore(t, t.TempDir())
		check.Must(MemoriesIn(s).Import(ctx, []Exported{one(1, "Ann rows", "superseded", 2), one(2, "Ann swims", "superseded", 3), one(3, "Ann rows", "superseded", 0)}))(t)
		if n := number(t, s, "SELECT count(*) FROM memories m JOIN memories b ON b.id = m.superseded_by LEFT JOIN memories c ON c.id = b.superseded_by WHERE b.id = m.id OR c.id = m.id"); n != 0 {
			t.Errorf("%d lead back to themselves", n)
		}
	})
	t.Run("an active memory is superseded by none", func(t *testing.T) {
		s := openStore(t, t.TempDir())
		_, err := MemoriesIn(s).Import(ctx, []Exported{one(1, "Ann rows", "active", 2), one(2, "Ann swims", "active", 0)})
		if err == nil || !strings.Contains(err.Error(), "it is active") {
			t.Errorf("%v", err)
		}
	})
}
