package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
	"cairn/transcript"
)

// startSession starts a session, as an engine does, unless there is nothing to leave behind.
func startSession(t check.Tester, c *store.Conversation) (head transcript.Head, started bool) {
	t.Helper()
	head, err := tryStartSession(t, c)
	if started = err == nil; errors.Is(err, transcript.ErrEmpty) {
		err = c.Compactions().DropSession(ctx)
	}
	check.That(t, err == nil, "begin a session: %v", err)
	return head, started
}

func tryStartSession(t check.Tester, c *store.Conversation) (transcript.Head, error) {
	t.Helper()
	s := storetest.StateOf(t, c)
	change, err := s.NewSession(len(storetest.Peek(t, c).First) > 0)
	if err != nil {
		return storetest.Peek(t, c).Head, err
	}
	return c.Compactions().Commit(ctx, s, change)
}

// sessionsOf formats earlier sessions as "1-9 [leaf worker 1-9] settled".
func sessionsOf(t *testing.T, c *store.Conversation) string {
	t.Helper()
	var parts []string
	for _, s := range storetest.Load(t, c).Head.Earlier {
		state := "unsettled"
		if storetest.Number(t, c.Store(), "SELECT settled FROM sessions WHERE conversation = ? AND from_seq = ?", c.ID(), s.From) == 1 {
			state = "settled"
		}
		parts = append(parts, fmt.Sprintf("%d-%d [%s] %s", s.From, s.To, storetest.Shape(s.Rows), state))
	}
	return strings.Join(parts, "; ")
}

func wantSessions(t *testing.T, c *store.Conversation, want string) {
	t.Helper()
	check.Equal(t, "earlier sessions", sessionsOf(t, c), want)
}

func TestNewSession(t *testing.T) {
	t.Run("verbatim messages are behind placeholders, and the session is empty", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 3))
		before := storetest.Load(t, c).Head.Version
		head, started := startSession(t, c)
		state := storetest.Load(t, c)
		if !started || head.Version <= before || head.Start != 10 || len(head.Stack)+len(state.Messages)+len(state.First) > 0 || state.Next != 10 {
			t.Errorf("began %v with %+v, %d messages", started, head, len(state.Messages))
		}
		wantSessions(t, c, "1-9 [leaf worker 1-3, placeholder emergency 4-9] unsettled")
		storetest.Deliver(t, c, storetest.Said(10, "anew"))
		check.EqualAll(t, "verbatim", storetest.Seqs(storetest.Load(t, c).Messages), []int64{10})
		checkCoverage(t, c)
	})
	t.Run("any failed statement changes nothing", func(t *testing.T) {
		for _, at := range []string{
			"DELETE ON wanted_sessions", "UPDATE OF version ON conversations", "UPDATE OF session_start ON conversations",
			"INSERT ON compactions", "UPDATE ON compactions", "INSERT ON sessions",
		} {
			c := storetest.Imported(t, 9)
			storetest.Hide(t, c, 1, 3)
			if wanted, _, err := c.Compactions().WantSession(ctx); err != nil || !wanted {
				t.Fatal(wanted, err)
			}
			before := storetest.Dump(t, c.Store())
			storetest.Run(t, c.Store(), "CREATE TEMP TRIGGER stop BEFORE "+at+" BEGIN SELECT raise(ABORT, 'no'); END")
			if _, err := tryStartSession(t, c); err == nil || storetest.Dump(t, c.Store()) != before {
				t.Errorf("%s: %v", at, err)
			}
			storetest.Run(t, c.Store(), "DROP TRIGGER stop")
			if _, started := startSession(t, c); !started {
				t.Errorf("%s: no session starts afterwards", at)
			}
		}
	})
}

func TestResultsApplyInTheirSession(t *testing.T) {
	c := storetest.Imported(t, 9)
	prepared := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 3)
	running := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 4, 6)
	startSession(t, c)
	storetest.Deliver(t, c, storetest.Said(10, "anew"))
	check.Must(running.Store(ctx, summarize.Summary{Text: "late", Tokens: 7}))(t)
	head, applied := storetest.ApplyRows(t, c, prepared, running.ID())
	if applied[0].State != transcript.Applied || applied[1].State != transcript.Applied || len(head.Stack) != 0 || head.Start != 10 {
		t.Errorf("got applied %s and %s; stack %s", applied[0].State, applied[1].State, storetest.Shape(head.Stack))
	}
	wantSessions(t, c, "1-9 [leaf worker 1-3, leaf worker 4-6, placeholder emergency 7-9] unsettled")
	storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 7, 9))
	rows := storetest.Load(t, c).Head.Earlier[0].Rows
	storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Rollup, transcript.Worker, 1, 9, transcript.IDs(rows)...))
	wantSessions(t, c, "1-9 [rollup worker 1-9] settled")
	checkCoverage(t, c)
	t.Run("an edit makes it work again", func(t *testing.T) {
		storetest.Edit(t, c, 5, "something else")
		wantSessions(t, c, "1-9 [rollup worker 1-9] unsettled")
		checkCoverage(t, c)
	})
	t.Run("a deletion too", func(t *testing.T) {
		storetest.Remove(t, c, 5)
		wantSessions(t, c, "1-9 [placeholder emergency 1-9] unsettled")
		check.Equal(t, "messages", storetest.Load(t, c).Head.Earlier[0].Rows[0].Messages, 8)
		checkCoverage(t, c)
	})
}

// leaveSessions writes n sessions of one message each, with a worker's summary.
func leaveSessions(t testing.TB, c *store.Conversation, n int) {
	t.Helper()
	count := fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", n)
	storetest.Run(t, c.Store(), `INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to,
		calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens) `+count+
		`SELECT ?1 << 32 | i, i, 'user', 'm' || i, 'u', 'Ann', 'text', '', '', '', '', '', '', i, i, 0, 2, 0, 9 FROM n`, c.ID())
	storetest.Run(t, c.Store(), "INSERT INTO sessions (conversation, from_seq, to_seq, settled) "+count+"SELECT ?1, i, i, 1 FROM n", c.ID())
	storetest.Run(t, c.Store(), `INSERT INTO compactions (conversation, kind, made_by, state, trigger, level, from_seq, to_seq, from_at, to_at, messages, children, text, tokens, created_at) `+
		count+`SELECT ?1, 'leaf', 'worker', 'applied', 'new', 0, i, i, i, i, 1, '', 'sum', 20, i FROM n`, c.ID())
	storetest.Run(t, c.Store(), "UPDATE conversations SET next_seq = ?1 + 1, session_start = ?1 + 1 WHERE id = ?2", n, c.ID())
}

func TestThousandsOfSessions(t *testing.T) {
	c := storetest.NewConversation(t)
	leaveSessions(t, c, 5000)
	if earlier := storetest.Load(t, c).Head.Earlier; len(earlier) != store.SessionsShown || earlier[0].From != 4901 || storetest.Shape(earlier[0].Rows) != "leaf worker 4901-4901" {
		t.Errorf("got %d read, from %d on", len(earlier), earlier[0].From)
	}
	storetest.Edit(t, c, 7, "something else")
	storetest.Edit(t, c, 9, "something else")
	earlier := storetest.Load(t, c).Head.Earlier
	if len(earlier) != store.SessionsShown+2 || storetest.Shape(earlier[0].Rows) != "leaf worker 7-7" || earlier[1].From != 9 || earlier[2].From != 4901 {
		t.Fatalf("unfinished sessions are not read: %d, %+v", len(earlier), earlier[:3])
	}
	storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 7, 7))
	if earlier := storetest.Load(t, c).Head.Earlier; len(earlier) != store.SessionsShown+1 || earlier[0].From != 9 {
		t.Errorf("finished sessions are still read: %d from %d on", len(earlier), earlier[0].From)
	}
	for _, query := range []string{
		"SELECT from_seq, to_seq FROM sessions WHERE conversation = 1 AND NOT settled AND from_seq < 4901 ORDER BY from_seq DESC LIMIT 20",
		"SELECT from_seq, to_seq FROM sessions WHERE conversation = 1 ORDER BY from_seq DESC LIMIT 100",
	} {
		var n int
		var plan string
		check.NoError(t, c.Store().Reading().QueryRow("EXPLAIN QUERY PLAN "+query).Scan(&n, &n, &n, &plan))
		check.HasPrefix(t, fmt.Sprintf("%s is finished", query), plan, "SEARCH")
	}
}

// The queries of each compaction do not get slower as compactions accumulate.
func TestOldConversationsCompactAsFast(t *testing.T) {
	c := storetest.NewConversation(t)
	for _, asked := range []struct {
		query, by string
		arguments []any
	}{
		{"SELECT text FROM compactions WHERE conversation = 1 " + store.ChildrenOf, "compactions_parent", []any{1}},
		{"SELECT text FROM messages WHERE id BETWEEN 1 AND 1000000 AND deleted_at IS NULL " + store.OfPins, "(rowid=?)", []any{1}},
		{store.LatestApplied, "compactions_applied (", []any{1, 2}},
		{"SELECT text FROM compactions WHERE conversation = 1 " + store.MadeWith, "compactions_applied (", []any{1, 2}},
		{"SELECT text FROM compactions WHERE conversation = 1 " + store.EndedWith, "compactions_ended (", []any{1, 2}},
	} {
		storetest.WantPlan(t, c.Store(), asked.query, asked.by, asked.arguments...)
	}
}

// A summary that waited in an earlier session may be applied together with what a user undoes:
// the undo does not affect it.
func TestUndoKeepsEarlierSessions(t *testing.T) {
	begin := func(t *testing.T) (c *store.Conversation, early []int64) {
		c = storetest.Imported(t, 9)
		a, b := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 4), storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 5, 9)
		storetest.ApplyRows(t, c, a, b)
		startSession(t, c)
		for i := 10; i < 20; i++ {
			storetest.Deliver(t, c, storetest.Said(i, "anew"))
		}
		return c, []int64{a, b}
	}
	t.Run("with a leaf", func(t *testing.T) {
		c, early := begin(t)
		before := storetest.Load(t, c)
		fold, late := storetest.StoreSummary(t, c, transcript.Rollup, transcript.Worker, 1, 9, early...), storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 10, 14)
		storetest.ApplyRows(t, c, fold, late)
		if l := latest(t, c); l.Why != "" || storetest.Shape(l.Rows) != "leaf worker 10-14" || len(l.Ended) != 0 || len(l.Freed) != 5 {
			t.Fatalf("the latest compaction is %+v", l)
		}
		undo(t, c)
		after := storetest.Load(t, c)
		if !reflect.DeepEqual(after.Head.Stack, before.Head.Stack) || !reflect.DeepEqual(after.Messages, before.Messages) {
			t.Errorf("before\n%+v\nafter\n%+v", before, after)
		}
		wantSessions(t, c, "1-9 [rollup worker 1-9] settled")
		check.Equal(t, "then", latest(t, c).Why, store.BeforeTheStart)
	})
	t.Run("one compaction after the other", func(t *testing.T) {
		c, early := begin(t)
		storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 10, 12))
		storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Rollup, transcript.Worker, 1, 9, early...), storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 13, 15))
		storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 16, 17))
		for _, want := range []string{"leaf worker 10-12, leaf worker 13-15", "leaf worker 10-12", ""} {
			check.Equal(t, "stack", storetest.Shape(undo(t, c).Stack), want)
		}
		check.Equal(t, "the earlier session's fold was undone", storetest.Number(t, c.Store(), "SELECT count(*) FROM compactions WHERE state = 'undone' AND kind = ?", transcript.Rollup), 0)
	})
}
