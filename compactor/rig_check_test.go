// What has to be true of a conversation at any time, on disk and in memory.

package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/transcript"
)

func strict(messages []llm.Message) string {
	if why := compactor.Refused(messages); why != "" {
		return why
	}
	if n := len(messages); n == 0 || messages[n-1].Role != llm.RoleUser && messages[n-1].Role != llm.RoleTool {
		return "it does not end with a user or a tool"
	}
	return ""
}

// verify compares disk and memory with the inputs: coverage, order, provenance, budgets, and an unchanged transcript.
func (r *rig) verify() {
	r.t.Helper()
	check.NoError(r.t, r.check())
}

// repaired fails if a row in the view still waits for a model.
func (r *rig) repaired() {
	r.t.Helper()
	check.Len(r.t, "rows that wait for a model", r.rows(compactor.Summary.NeedsRepair), 0)
}

func (r *rig) noPlaceholder() {
	r.t.Helper()
	check.Len(r.t, "placeholders", r.rows(func(row compactor.Summary) bool { return row.Kind == compactor.Placeholder }), 0)
}

// rows returns the rows in the view for which match returns true.
func (r *rig) rows(match func(row compactor.Summary) bool) []compactor.Summary {
	return slices.DeleteFunc(slices.Clone(r.c.Status().Stack), func(row compactor.Summary) bool { return !match(row) })
}

func (r *rig) onDisk(look func(*store.Conversation, transcript.Snapshot) error) error {
	r.t.Helper()
	ctx := context.Background()
	if r.look == nil {
		r.look = openToLook(r.t, r.dir)
	}
	conv := check.Must(r.look.Find(ctx, r.name))(r.t)
	return look(conv, check.Must(conv.Compactions().Load(ctx))(r.t))
}

// check compares the disk with the inputs: coverage, order, sessions, whole turns, and an unchanged transcript.
func (r *rig) check() error {
	r.t.Helper()
	return r.onDisk(func(conv *store.Conversation, state transcript.Snapshot) error {
		r.t.Helper()
		left := r.remainingMessages()
		seen := map[int64]int{}
		for _, m := range state.Messages {
			check.Require(r.t, m.Seq >= r.start(), "message %d is verbatim, and the session begins at %d", m.Seq, r.start())
			seen[m.Seq]++
		}
		for _, row := range r.rowsOf(state.Head) {
			n := 0
			cut := make(map[int64]int) // by turn: 1 some of it is covered, 2 some is not, 3 both
			for _, m := range left {
				if row.Covers(m.Seq) {
					seen[m.Seq]++
					n++
					cut[m.Turn] |= 1
				} else {
					cut[m.Turn] |= 2
				}
				check.Require(r.t, cut[m.Turn] != 3, "row %d cuts turn %d", row.ID, m.Turn)
			}
			check.Require(r.t, n == row.Messages, "row %d (%s by %s on %s, %d to %d) says it holds %d messages and holds %d",
				row.ID, row.Kind, row.By, row.Trigger, row.From, row.To, row.Messages, n)
		}
		page := check.Must(conv.Transcript().Page(context.Background(), 1, len(r.messages)+1))(r.t)
		check.Len(r.t, "messages in the transcript", page, len(left))
		for i, m := range left {
			check.Require(r.t, seen[m.Seq] == 1, "message %d: got %d places, want 1", m.Seq, seen[m.Seq])
			check.Require(r.t, page[i].Seq == m.Seq && page[i].Text == m.Text, "message %d: got %q, want %q", m.Seq, page[i].Text, m.Text)
		}
		return findRepeatedSpans(state.Prepared)
	})
}

// checkShown checks that each message of the session is in exactly one place.
func (r *rig) checkShown(t check.Tester, g compactor.Status) {
	t.Helper()
	covered := map[int]int{}
	for seq := r.start(); seq <= int64(len(r.messages)); seq++ {
		if !r.deleted[seq] {
			covered[rowOver(g.Stack, seq)]++
		}
	}
	check.Require(t, covered[-1] == g.Lines, "got %d verbatim messages, want %d", g.Lines, covered[-1])
	for i, row := range g.Stack {
		check.Require(t, row.Messages == covered[i], "row %d, %d, has a wrong count: %+v", i, covered[i], row)
	}
}

// rowsOf returns all applied rows in order, each in the session where it is in the head.
func (r *rig) rowsOf(head compactor.Head) (rows []compactor.Summary) {
	r.t.Helper()
	check.Require(r.t, head.Start == r.start() && len(head.Earlier) == len(r.ends),
		"the session begins at %d behind %d others, and should at %d behind %d", head.Start, len(head.Earlier), r.start(), len(r.ends))
	last := int64(0)
	add := func(session int, all []compactor.Summary) {
		for _, row := range all {
			check.Require(r.t, r.session(row.From) == session && r.session(row.To) == session, "row %d, #%d to #%d, is in session %d; they end at %v", row.ID, row.From, row.To, session, r.ends)
			check.Require(r.t, row.From > last, "row %d begins at %d, inside what ends at %d", row.ID, row.From, last)
			last = row.To
		}
		rows = append(rows, all...)
	}
	for i, s := range head.Earlier {
		check.Require(r.t, s.To == r.ends[i], "session %d ends at %d, should at %d", i, s.To, r.ends[i])
		add(i, s.Rows)
	}
	add(len(r.ends), head.Stack)
	return rows
}

// checkPublishedState compares the state for decisions with the invariants of a State, and with the disk.
func (r *rig) checkPublishedState() (err error) {
	r.c.do(func() {
		told := r.c.Compactor.Transcript()
		if told == nil {
			return
		}
		err = told.Check()
		if got, want := describe(told), describe(r.c.Compactor.Rebuilt()); err == nil && got != want {
			err = fmt.Errorf("the state for decisions differs from the view:\n%s--- of the view\n%s", got, want)
		}
		if err == nil {
			err = r.onDisk(func(conv *store.Conversation, state transcript.Snapshot) error { return sameOnDisk(told, conv, state) })
		}
	})
	return err
}

func sameOnDisk(told *transcript.State, conv *store.Conversation, state transcript.Snapshot) error {
	now, err := conv.Compactions().Rows(context.Background(), transcript.IDs(told.Prepared))
	if err != nil {
		return err
	}
	stale := func(row transcript.Summary) bool { // stale ones are noticed when all work is done
		return slices.ContainsFunc(now, func(now transcript.Summary) bool { return now.ID == row.ID && now.State == transcript.Stale })
	}
	told.Prepared = slices.DeleteFunc(slices.Clone(told.Prepared), stale)
	state.Prepared = slices.DeleteFunc(state.Prepared, func(row transcript.Summary) bool { // it is stored, and the engine does not know it yet
		return slices.Contains(transcript.IDs(told.Running), row.ID)
	})
	if got, want := describe(told), describe(state.State()); got != want {
		return fmt.Errorf("the state for decisions differs from the disk:\n%s--- on disk\n%s", got, want)
	}
	return nil
}

// describe prints the stored parts of a State, without running rows, which a restart ends.
func describe(s *transcript.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d, next %d, session from %d of %d messages, cleared to %d, spared %v, sessions %v\n",
		s.HeadVersion, s.NextSeq, s.SessionStart, s.InSession, s.ClearedTo, s.Spared, s.Sessions)
	prepared := slices.Clone(s.Prepared)
	slices.SortFunc(prepared, func(a, b transcript.Summary) int { return int(a.ID - b.ID) })
	for _, row := range slices.Concat(s.Summaries, prepared) {
		fmt.Fprintln(&b, row.ID, row.Kind, row.By, row.State, row.Trigger, row.Level, row.Span, row.FromTime.Unix(), row.ToTime.Unix(),
			row.Messages, row.Children, row.Tokens, row.AwaitsModel, row.Text)
	}
	for _, m := range s.Messages {
		fmt.Fprint(&b, m.Seq, "/", m.Turn, " ")
	}
	return b.String()
}

// findRepeatedSpans reports whether two prepared summaries cover the same messages. A fold and its
// children may both wait, and so may the text for a placeholder, which costs nothing.
func findRepeatedSpans(prepared []compactor.Summary) error {
	prepared = slices.DeleteFunc(slices.Clone(prepared), func(row compactor.Summary) bool {
		return row.By == compactor.ByExtractive && row.Trigger == compactor.OnRepair
	})
	for i, a := range prepared {
		for _, b := range prepared[i+1:] {
			if a.Kind == compactor.Leaf && b.Kind == compactor.Leaf && a.From <= b.To && b.From <= a.To {
				return fmt.Errorf("rows %d, %d to %d, and %d, %d to %d, are both prepared", a.ID, a.From, a.To, b.ID, b.From, b.To)
			}
		}
	}
	return nil
}
