package memory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/compactor"
)

func startSegment(t tester, c *Conversation) (compactor.Head, bool) {
	t.Helper()
	head, started, err := c.StartSegment(ctx)
	if err != nil {
		t.Errorf("begin a segment: %v", err)
	}
	return head, started
}

// segmentsOf writes earlier segments as "1-9 [leaf worker 1-9] settled".
func segmentsOf(t *testing.T, c *Conversation) string {
	t.Helper()
	var parts []string
	for _, s := range load(t, c).Head.Earlier {
		state := "unsettled"
		if number(t, c.store, "SELECT settled FROM segments WHERE conversation = ? AND from_seq = ?", c.id, s.From) == 1 {
			state = "settled"
		}
		parts = append(parts, fmt.Sprintf("%d-%d [%s] %s", s.From, s.To, shape(s.Rows), state))
	}
	return strings.Join(parts, "; ")
}

func wantSegments(t *testing.T, c *Conversation, want string) {
	t.Helper()
	if got := segmentsOf(t, c); got != want {
		t.Errorf("earlier segments are\n%s\nwant\n%s", got, want)
	}
}

func TestANewSegment(t *testing.T) {
	t.Run("what was verbatim is behind markers, and nothing of it in the segment", func(t *testing.T) {
		c := imported(t, 9)
		land(t, c, stage(t, c, leaf, worker, 1, 3))
		before := load(t, c).Head.Generation
		head, started := startSegment(t, c)
		state := load(t, c)
		if !started || head.Generation <= before || head.Start != 10 || len(head.Stack)+len(state.Messages)+len(state.First) > 0 || state.Next != 10 {
			t.Errorf("began %v with %+v, %d messages", started, head, len(state.Messages))
		}
		wantSegments(t, c, "1-9 [leaf worker 1-3, marker emergency 4-9] unsettled")
		deliver(t, c, said(10, "anew"))
		if state := load(t, c); !slices.Equal(seqs(state.Messages), []int64{10}) {
			t.Errorf("verbatim are %v", seqs(state.Messages))
		}
		checkCoverage(t, c)
	})
	t.Run("it is merged with the markers beside it, never with those of the next segment", func(t *testing.T) {
		c := imported(t, 5)
		hide(t, c, 1, 2)
		startSegment(t, c)
		wantSegments(t, c, "1-5 [marker emergency 1-5] unsettled")
		deliver(t, c, said(6, "anew"))
		hide(t, c, 6, 6)
		startSegment(t, c)
		wantSegments(t, c, "1-5 [marker emergency 1-5] unsettled; 6-6 [marker emergency 6-6] unsettled")
	})
	t.Run("without a message there is none, twice or in an empty conversation", func(t *testing.T) {
		c := newConversation(t)
		if _, started := startSegment(t, c); started {
			t.Error("an empty conversation began anew")
		}
		deliver(t, c, said(1, "hello"))
		startSegment(t, c)
		before := dump(t, c.store)
		if head, started := startSegment(t, c); started || head.Start != 2 || dump(t, c.store) != before {
			t.Errorf("it began anew twice: %+v", head)
		}
		deliver(t, c, said(2, "hello"))
		remove(t, c, 2)
		if _, started := startSegment(t, c); started {
			t.Error("a segment of deleted messages was left behind")
		}
		checkCoverage(t, c)
	})
	t.Run("not while a turn waits for its answer", func(t *testing.T) {
		c := newConversation(t)
		m := said(1, "what time is it?")
		m.Addressed = true
		deliver(t, c, m)
		before := dump(t, c.store)
		if _, _, err := c.StartSegment(ctx); err == nil || dump(t, c.store) != before {
			t.Errorf("it began: %v", err)
		}
	})
	t.Run("whatever statement fails, nothing has changed", func(t *testing.T) {
		for _, at := range []string{
			"DELETE ON wanted_segments", "UPDATE OF generation ON conversations", "UPDATE OF segment_start ON conversations",
			"INSERT ON compactions", "UPDATE ON compactions", "INSERT ON segments",
		} {
			c := imported(t, 9)
			hide(t, c, 1, 3)
			if wanted, _, err := c.WantSegment(ctx); err != nil || !wanted {
				t.Fatal(wanted, err)
			}
			before := dump(t, c.store)
			run(t, c.store, "CREATE TEMP TRIGGER stop BEFORE "+at+" BEGIN SELECT raise(ABORT, 'no'); END")
			if _, _, err := c.StartSegment(ctx); err == nil || dump(t, c.store) != before {
				t.Errorf("%s: %v", at, err)
			}
			run(t, c.store, "DROP TRIGGER stop")
			if _, started := startSegment(t, c); !started {
				t.Errorf("%s: it does not begin afterwards", at)
			}
		}
	})
}

func TestResultsLandInTheSegmentTheyWereReadFrom(t *testing.T) {
	c := imported(t, 9)
	staged := stage(t, c, leaf, worker, 1, 3)
	running := begin(t, c, leaf, worker, 4, 6)
	startSegment(t, c)
	deliver(t, c, said(10, "anew"))
	if _, err := running.Store(ctx, compactor.Summary{Text: "late", Tokens: 7}); err != nil {
		t.Fatal(err)
	}
	head, landed := land(t, c, staged, running.ID())
	if landed[0].State != compactor.Active || landed[1].State != compactor.Active || len(head.Stack) != 0 || head.Start != 10 {
		t.Errorf("landed as %s and %s; the stack is %s", landed[0].State, landed[1].State, shape(head.Stack))
	}
	wantSegments(t, c, "1-9 [leaf worker 1-3, leaf worker 4-6, marker emergency 7-9] unsettled")
	land(t, c, stage(t, c, leaf, worker, 7, 9))
	rows := load(t, c).Head.Earlier[0].Rows
	land(t, c, stage(t, c, rollup, worker, 1, 9, ids(rows)...))
	wantSegments(t, c, "1-9 [rollup worker 1-9] settled")
	checkCoverage(t, c)
	t.Run("an edit makes it work again", func(t *testing.T) {
		edit(t, c, 5, "something else")
		wantSegments(t, c, "1-9 [rollup worker 1-9] unsettled")
		checkCoverage(t, c)
	})
	t.Run("a deletion too", func(t *testing.T) {
		remove(t, c, 5)
		wantSegments(t, c, "1-9 [marker emergency 1-9] unsettled")
		if row := load(t, c).Head.Earlier[0].Rows[0]; row.Messages != 8 {
			t.Errorf("it holds %d messages", row.Messages)
		}
		checkCoverage(t, c)
	})
}

// leaveSegments writes n segments of one message each, with the summary of a worker.
func leaveSegments(t testing.TB, c *Conversation, n int) {
	t.Helper()
	count := fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", n)
	run(t, c.store, `INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to,
		calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens) `+count+
		`SELECT ?1 << 32 | i, i, 'user', 'm' || i, 'u', 'Ann', 'text', '', '', '', '', '', '', i, i, 0, 2, 0, 9 FROM n`, c.id)
	run(t, c.store, "INSERT INTO segments (conversation, from_seq, to_seq, settled) "+count+"SELECT ?1, i, i, 1 FROM n", c.id)
	run(t, c.store, `INSERT INTO compactions (conversation, kind, made_by, state, trigger, level, from_seq, to_seq, from_at, to_at, messages, children, text, tokens, created_at) `+
		count+`SELECT ?1, 'leaf', 'worker', 'active', 'new', 0, i, i, i, i, 1, '', 'sum', 20, i FROM n`, c.id)
	run(t, c.store, "UPDATE conversations SET next_seq = ?1 + 1, segment_start = ?1 + 1 WHERE id = ?2", n, c.id)
}

func TestAConversationOfThousandsOfSegments(t *testing.T) {
	c := newConversation(t)
	leaveSegments(t, c, 5000)
	if earlier := load(t, c).Head.Earlier; len(earlier) != segmentsShown || earlier[0].From != 4901 || shape(earlier[0].Rows) != "leaf worker 4901-4901" {
		t.Errorf("%d are read, from %d on", len(earlier), earlier[0].From)
	}
	edit(t, c, 7, "something else")
	edit(t, c, 9, "something else")
	earlier := load(t, c).Head.Earlier
	if len(earlier) != segmentsShown+2 || shape(earlier[0].Rows) != "leaf worker 7-7" || earlier[1].From != 9 || earlier[2].From != 4901 {
		t.Fatalf("what needs work is not read: %d, %+v", len(earlier), earlier[:3])
	}
	land(t, c, stage(t, c, leaf, worker, 7, 7))
	if earlier := load(t, c).Head.Earlier; len(earlier) != segmentsShown+1 || earlier[0].From != 9 {
		t.Errorf("what is done is still read: %d from %d on", len(earlier), earlier[0].From)
	}
	for _, query := range []string{
		"SELECT from_seq, to_seq FROM segments WHERE conversation = 1 AND NOT settled AND from_seq < 4901 ORDER BY from_seq DESC LIMIT 20",
		"SELECT from_seq, to_seq FROM segments WHERE conversation = 1 ORDER BY from_seq DESC LIMIT 100",
	} {
		var n int
		var plan string
		if err := c.store.read.QueryRow("EXPLAIN QUERY PLAN "+query).Scan(&n, &n, &n, &plan); err != nil || !strings.HasPrefix(plan, "SEARCH") {
			t.Errorf("%s\nis done by %s, %v", query, plan, err)
		}
	}
}

func TestWantedSegments(t *testing.T) {
	want := func(t *testing.T, c *Conversation, wanted, later bool) {
		t.Helper()
		if w, l, err := c.WantSegment(ctx); err != nil || w != wanted || l != later {
			t.Errorf("wanted %v, later %v, %v", w, l, err)
		}
	}
	due := func(t *testing.T, c *Conversation, want bool) {
		t.Helper()
		if d, err := c.SegmentDue(ctx); err != nil || d != want {
			t.Errorf("due %v, %v", d, err)
		}
	}
	takeUp := func(t *testing.T, c *Conversation) (ids []string) {
		t.Helper()
		taken, err := c.TakeUp(ctx, All, 1<<30, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range taken {
			ids = append(ids, m.ID)
		}
		return ids
	}
	t.Run("what waited belongs to the segment before, what comes later to the next", func(t *testing.T) {
		c := newConversation(t)
		want(t, c, false, false) // nothing was said
		deliverOnly(t, c, said(1, "before"))
		want(t, c, true, true)
		want(t, c, false, true) // nothing was said since
		deliverOnly(t, c, said(2, "between"))
		want(t, c, true, true)
		deliverOnly(t, c, said(3, "after"))
		for i, id := range []string{"m1", "m2"} {
			due(t, c, false)
			if got := takeUp(t, c); !slices.Equal(got, []string{id}) {
				t.Fatalf("taken up are %v", got)
			}
			if got := takeUp(t, c); len(got) > 0 {
				t.Fatalf("taken up before the segment has ended: %v", got)
			}
			due(t, c, true)
			if head, started := startSegment(t, c); !started || head.Start != int64(i+2) {
				t.Fatalf("the segment begins at %d", head.Start)
			}
		}
		due(t, c, false)
		if got := takeUp(t, c); !slices.Equal(got, []string{"m3"}) {
			t.Errorf("taken up are %v", got)
		}
		wantSegments(t, c, "1-1 [marker emergency 1-1] unsettled; 2-2 [marker emergency 2-2] unsettled")
	})
	t.Run("a wish outlives the process, and the conversation is unfinished until then", func(t *testing.T) {
		dir := t.TempDir()
		s := openStore(t, dir)
		c := find(t, s, "terminal:general")
		deliver(t, c, said(1, "before"))
		want(t, c, true, false)
		s.Close()
		s = openStore(t, dir)
		c = find(t, s, "terminal:general")
		if names, err := s.Unfinished(ctx); err != nil || !slices.Equal(names, []string{c.name}) {
			t.Errorf("unfinished are %v, %v", names, err)
		}
		due(t, c, true)
		startSegment(t, c)
		due(t, c, false)
	})
	t.Run("what was missed and said before it belongs before it", func(t *testing.T) {
		c := newConversation(t)
		deliver(t, c, said(1, "known"))
		if err := c.SetGap(ctx, "m1"); err != nil {
			t.Fatal(err)
		}
		deliverOnly(t, c, said(4, "before"))
		want(t, c, true, true)
		late := said(5, "after")
		late.Time = time.Now().Add(time.Hour)
		deliverOnly(t, c, late)
		if _, err := c.FillGap(ctx, []Inbound{said(2, "missed"), said(3, "missed too")}, "m3", true); err != nil {
			t.Fatal(err)
		}
		if got := takeUp(t, c); !slices.Equal(got, []string{"m2", "m3", "m4"}) {
			t.Errorf("taken up are %v", got)
		}
		due(t, c, true)
	})
}

func BenchmarkLoadOfManySegments(b *testing.B) {
	c := find(b, openStore(b, b.TempDir()), "terminal:general")
	leaveSegments(b, c, 20_000)
	for b.Loop() {
		load(b, c)
	}
}

// What is asked with every compaction does not cost more the more of them there are.
func TestTheAgeOfAConversationDoesNotMatterToACompaction(t *testing.T) {
	c := newConversation(t)
	for _, asked := range []struct {
		query, by string
		arguments []any
	}{
		{wasRead, "compactions_to (", []any{1, 2, 3, 4}},
		{retire, "INTEGER PRIMARY KEY", []any{1, 2, 3}},
		{"SELECT text FROM compactions WHERE conversation = 1 " + childrenOf, "compactions_parent", []any{1}},
		{"SELECT text FROM messages WHERE id BETWEEN 1 AND 1000000 AND deleted_at IS NULL " + ofPins, "(rowid=?)", []any{1}},
		{latestLanded, "compactions_landed (", []any{1, 2}},
		{"SELECT text FROM compactions WHERE conversation = 1 " + madeWith, "compactions_landed (", []any{1, 2}},
		{"SELECT text FROM compactions WHERE conversation = 1 " + endedWith, "compactions_ended (", []any{1, 2}},
	} {
		rows, err := c.store.write.Query("EXPLAIN QUERY PLAN "+asked.query, asked.arguments...)
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		for rows.Next() {
			var n int
			var step string
			if err := rows.Scan(&n, &n, &n, &step); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, step)
		}
		rows.Close()
		if by := strings.Join(plan, "; "); !strings.Contains(by, asked.by) || strings.Contains(by, "compactions_state") {
			t.Errorf("%s\nis done by %s", asked.query, by)
		}
	}
}
