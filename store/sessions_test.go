package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/compactor/summarize"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// wantSessions compares earlier sessions, formatted as "1-9 [leaf worker 1-9] settled".
func wantSessions(t *testing.T, c *store.Conversation, want string) {
	t.Helper()
	var parts []string
	for _, s := range load(t, c).Head.Earlier {
		state := "unsettled"
		if number(t, c.Store(), "SELECT settled FROM sessions WHERE conversation = ? AND from_seq = ?", c.ID(), s.From) == 1 {
			state = "settled"
		}
		parts = append(parts, fmt.Sprintf("%d-%d [%s] %s", s.From, s.To, storetest.Shape(s.Rows), state))
	}
	check.Equal(t, "earlier sessions", strings.Join(parts, "; "), want)
}

func TestNewSession(t *testing.T) {
	c := imported(t, 9)
	play(t, c, "sum 1-3")
	before := load(t, c).Head.Version
	head, started := startSession(t, c)
	state := load(t, c)
	empty := len(head.Stack)+len(state.Messages)+len(state.First) == 0
	check.That(t, started && head.Version > before && head.Start == 10 && state.Next == 10 && empty, "began %v with %+v", started, head)
	wantSessions(t, c, "1-9 [leaf worker 1-3, placeholder emergency 4-9] unsettled")
	play(t, c, "say 10")
	check.EqualAll(t, "verbatim", storetest.Seqs(load(t, c).Messages), []int64{10})
	checkCoverage(t, c)
	t.Run("any failed statement changes nothing", func(t *testing.T) {
		c := imported(t, 9)
		storetest.Hide(t, c, 1, 3)
		wantWanted(t, c, true, false)
		before := dump(t, c.Store())
		for _, at := range []string{
			"DELETE ON wanted_sessions", "UPDATE OF version ON conversations", "UPDATE OF session_start ON conversations",
			"INSERT ON compactions", "UPDATE ON compactions", "INSERT ON sessions",
		} {
			accept := storetest.Refuse(t, c.Store(), at, "no")
			_, err := tryStartSession(t, c)
			check.That(t, err != nil && dump(t, c.Store()) == before, "%s: %v", at, err)
			accept()
		}
		_, started := startSession(t, c)
		check.Equal(t, "started afterwards", started, true)
	})
}

// wantWanted asks for a session, and checks whether one is wanted now, and whether it starts later.
func wantWanted(t *testing.T, c *store.Conversation, want, later bool) {
	t.Helper()
	is, isLater, err := c.Sessions().Request(ctx, time.Now())
	check.NoError(t, err)
	check.Equal(t, "wanted, later", [2]bool{is, isLater}, [2]bool{want, later})
}

func TestResultsApplyInTheirSession(t *testing.T) {
	c := imported(t, 9)
	ids := play(t, c, "leaf 1-3")
	running := begin(t, c, 4, 6)
	play(t, c, "new; say 10")
	check.Must(running.Store(ctx, summarize.Summary{Text: "late", Tokens: 7}))(t)
	check.Equal(t, "states", apply(t, c, ids[0], running.ID()), "applied applied")
	head := load(t, c).Head
	check.That(t, len(head.Stack) == 0 && head.Start == 10, "got %+v", head)
	wantSessions(t, c, "1-9 [leaf worker 1-3, leaf worker 4-6, placeholder emergency 7-9] unsettled")
	for _, step := range []struct{ do, want string }{
		{"sum 7-9; roll 1-9; apply", "1-9 [rollup worker 1-9] settled"},
		{"edit 5", "1-9 [rollup worker 1-9] unsettled"}, // there is something to repair
		{"delete 5", "1-9 [placeholder emergency 1-9] unsettled"},
	} {
		play(t, c, step.do)
		wantSessions(t, c, step.want)
		checkCoverage(t, c)
	}
	check.Equal(t, "messages", load(t, c).Head.Earlier[0].Rows[0].Messages, 8)
}

// Only those that are shown, or unfinished, are read; and the queries of each compaction do not get slower as they accumulate.
func TestHundredsOfSessions(t *testing.T) {
	s, ran := openRecorded(t)
	c := find(t, s, "terminal:general")
	// 300 sessions of one message each, with a worker's summary.
	const count = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) "
	storetest.Run(t, c.Store(), `INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to,
		calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens) `+count+
		`SELECT 1 << 32 | i, i, 'user', 'm' || i, 'u', 'Ann', 'text', '', '', '', '', '', '', i, i, 0, 2, 0, 9 FROM n`)
	storetest.Run(t, c.Store(), "INSERT INTO sessions (conversation, from_seq, to_seq, settled) "+count+"SELECT 1, i, i, 1 FROM n")
	storetest.Run(t, c.Store(), `INSERT INTO compactions (conversation, kind, made_by, state, trigger, level, from_seq, to_seq, from_at, to_at, messages, children, text, tokens, created_at) `+
		count+`SELECT 1, 'leaf', 'worker', 'applied', 'new', 0, i, i, i, i, 1, '', 'sum', 20, i FROM n`)
	storetest.Run(t, c.Store(), "UPDATE conversations SET next_seq = 301, session_start = 301")
	read := func(n int, first ...int64) {
		t.Helper()
		earlier := load(t, c).Head.Earlier
		check.Require(t, len(earlier) == store.MaxSessions+n, "got %d sessions", len(earlier))
		for i, from := range first {
			check.Equal(t, fmt.Sprint("session ", i), storetest.Shape(earlier[i].Rows), fmt.Sprintf("leaf worker %d-%[1]d", from))
		}
	}
	read(0, 201)
	play(t, c, "edit 7; edit 9")
	read(2, 7, 9, 201) // unfinished ones too
	play(t, c, "sum 7-7")
	read(1, 9)
	ran.wantPlan(t, c.Store(), "AND settled = 0 AND from_seq < ? ORDER BY from_seq DESC LIMIT ?", "SEARCH sessions USING PRIMARY KEY (conversation=? AND from_seq<?)")
	ran.wantPlan(t, c.Store(), "FROM sessions WHERE conversation = ? ORDER BY from_seq DESC LIMIT ?", "SEARCH sessions USING PRIMARY KEY (conversation=?)")
}

// A summary that waited in an earlier session may be applied together with what a user undoes: the undo does not affect it.
func TestUndoKeepsEarlierSessions(t *testing.T) {
	c := imported(t, 9)
	play(t, c, "leaf 1-4; leaf 5-9; apply; new; say 10-19; sum 10-12")
	before := load(t, c)
	play(t, c, "roll 1-9; leaf 13-15; apply")
	l := latest(t, c)
	act := l.Act()
	check.That(t, l.Why == "" && storetest.Shape(act.Rows) == "leaf worker 13-15" && len(act.Ended) == 0 && len(l.Freed()) == 3, "the latest is %+v", l)
	undo(t, c)
	wantState(t, c, before)
	wantSessions(t, c, "1-9 [rollup worker 1-9] settled")
	undo(t, c)
	check.Equal(t, "stack", stack(t, c), "")
	check.Equal(t, "then", latest(t, c).Why, store.BeforeTheStart)
}

// Waiting messages belong to the old session, later ones to the new.
func TestWantedSessions(t *testing.T) {
	due := func(c *store.Conversation, want bool) {
		t.Helper()
		check.Equal(t, "due", check.Must(c.Sessions().Due(ctx))(t), want)
	}
	c := newTalk(t)
	wantWanted(t, c, false, false) // there are no messages
	deliverOnly(t, c, said(1, "before"))
	wantWanted(t, c, true, true)
	wantWanted(t, c, false, true) // there are no new messages
	deliverOnly(t, c, said(2, "between"))
	wantWanted(t, c, true, true)
	deliverOnly(t, c, said(3, "after"))
	for i, id := range []string{"m1", "m2"} {
		due(c, false)
		check.EqualAll(t, "dequeued", ids(deliver(t, c)), []string{id})
		check.Len(t, "dequeued before the session has ended", deliver(t, c), 0)
		c = reopen(t, c) // the request survives the process, and marks the conversation unfinished
		wantUnfinished(t, c.Store(), c.Name())
		due(c, true)
		head, started := startSession(t, c)
		check.Require(t, started && head.Start == int64(i+2), "got session start %d", head.Start)
	}
	due(c, false)
	check.EqualAll(t, "dequeued", ids(deliver(t, c)), []string{"m3"})
	wantSessions(t, c, "1-1 [placeholder emergency 1-1] unsettled; 2-2 [placeholder emergency 2-2] unsettled")
	t.Run("missed messages from before /new belong to the old session", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, said(1, "known"))
		setGap(t, c, "m1")
		deliverOnly(t, c, said(4, "before"))
		wantWanted(t, c, true, true)
		late := said(5, "after")
		late.Time = time.Now().Add(time.Hour)
		deliverOnly(t, c, late)
		fillGap(t, c, "m3", true, said(2, "missed"), said(3, "missed too"))
		check.EqualAll(t, "dequeued", ids(deliver(t, c)), []string{"m2", "m3", "m4"})
		due(c, true)
	})
}
