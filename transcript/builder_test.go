package transcript_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"cairn/chat"
	"cairn/testkit/check"
	"cairn/transcript"
)

// conversation is a State and the store behind it: all messages and summaries that ever existed,
// written only from changes. Each step of a test is a method; each checks the state.
type conversation struct {
	t         testing.TB
	s         *transcript.State
	messages  map[int64]transcript.Message
	summaries map[int64]transcript.Summary
	applied   []transcript.Step // in the session and not undone, with the rows as they were then
	names     map[string]int64  // of the summaries of a script
}

func newConversation(t testing.TB) *conversation {
	return &conversation{
		t: t, s: transcript.New(), messages: map[int64]transcript.Message{}, summaries: map[int64]transcript.Summary{}, names: map[string]int64{},
	}
}

// said returns a conversation with n messages, each a turn of its own.
func said(t testing.TB, n int) *conversation {
	c := newConversation(t)
	c.say(n)
	return c
}

// apply writes a change to the store and advances the state.
func (c *conversation) apply(change transcript.Change) {
	c.t.Helper()
	for _, m := range change.Appended {
		c.messages[m.Seq] = m
	}
	for _, row := range change.Summaries {
		c.summaries[row.ID] = row
	}
	if change.Marks.SessionStart != c.s.SessionStart {
		c.applied = nil
	}
	c.become(c.s.With(change))
}

// applyCover is apply for a change of Cover, which can be undone.
func (c *conversation) applyCover(change transcript.Change) {
	c.t.Helper()
	l := transcript.Step{ClearedTo: c.s.ClearedTo}
	for _, row := range change.Summaries {
		if row.From < c.s.SessionStart {
			continue
		}
		ended := row.State == transcript.RolledUp || row.State == transcript.Replaced
		if ended {
			l.Ended = append(l.Ended, row)
		}
		if row.State == transcript.Applied || ended && !has(c.s.Summaries, row) {
			l.Rows = append(l.Rows, row)
		}
	}
	c.apply(change)
	if len(l.Rows) > 0 {
		c.applied = append(c.applied, l)
	}
}

func (c *conversation) become(s *transcript.State) {
	c.t.Helper()
	c.s = s
	check.NoError(c.t, c.check())
}

func (c *conversation) edit(seq int64) {
	c.t.Helper()
	c.become(c.revise([]int64{seq}, transcript.Summary.Edited))
}

func (c *conversation) remove(seqs ...int64) {
	c.t.Helper()
	next := c.revise(seqs, func(row transcript.Summary) transcript.Summary { return row.Without(seqs) })
	for _, seq := range seqs {
		delete(c.messages, seq)
		next.Messages = next.Messages.Without(transcript.Span{From: seq, To: seq})
		if seq >= next.SessionStart {
			next.InSession--
		}
	}
	c.become(next)
}

// revise returns the state in which as has changed every summary over one of seqs, shown or not.
func (c *conversation) revise(seqs []int64, as func(transcript.Summary) transcript.Summary) *transcript.State {
	for id, row := range c.summaries {
		if slices.ContainsFunc(seqs, row.Covers) {
			c.summaries[id] = as(row)
		}
	}
	next := *c.s
	next.Version++
	next.HeadVersion = next.Version
	for _, rows := range []*[]transcript.Summary{&next.Summaries, &next.Prepared, &next.Running} {
		var kept []transcript.Summary
		for _, was := range *rows {
			if row := c.summaries[was.ID]; row.State == was.State {
				kept = append(kept, row)
			}
		}
		*rows = kept
	}
	for i, undo := range c.applied {
		for _, row := range undo.Rows {
			c.applied[i].Changed = c.applied[i].Changed || slices.ContainsFunc(seqs, row.Covers)
		}
	}
	return &next
}

// check checks the state's invariants, and the summaries in the store against Provenance:
// expanding one gives exactly its messages.
func (c *conversation) check() error {
	if err := c.s.Check(); err != nil {
		return err
	}
	for _, row := range c.s.Summaries {
		want := c.between(row.Span)
		if got := c.expand(row); !slices.Equal(got, want) || row.Messages != len(want) {
			return fmt.Errorf("summary %d over #%d to #%d: has %d messages and expands to %v, want %v", row.ID, row.From, row.To, row.Messages, got, want)
		}
	}
	for _, m := range c.messages {
		found := c.s.Messages.In(transcript.Span{From: m.Seq, To: m.Seq})
		verbatim := len(found) > 0
		if verbatim == c.s.Covered(m.Seq) && m.Seq >= c.s.SessionStart || verbatim && found[0] != m {
			return fmt.Errorf("message %d: covered %v; verbatim %+v, stored %+v", m.Seq, c.s.Covered(m.Seq), found, m)
		}
	}
	return nil
}

func (c *conversation) between(sp transcript.Span) (seqs []int64) {
	for seq := sp.From; seq <= sp.To; seq++ {
		if _, ok := c.messages[seq]; ok {
			seqs = append(seqs, seq)
		}
	}
	return seqs
}

func (c *conversation) expand(row transcript.Summary) (seqs []int64) {
	if len(row.Children) == 0 {
		return c.between(row.Span)
	}
	for _, id := range row.Children {
		seqs = append(seqs, c.expand(c.summaries[id])...)
	}
	return seqs
}

func (c *conversation) say(n int) {
	c.t.Helper()
	c.must(c.s.Append(slices.Repeat([]transcript.Message{{Time: time.Unix(0, 0)}}, n)...))
}

func (c *conversation) ask() {
	c.t.Helper()
	c.say(1)
	c.s.Open = c.s.NextSeq - 1
}

// answer ends the open turn with n calls, their results, and a reply.
func (c *conversation) answer(results int) {
	c.t.Helper()
	c.must(c.s.Append(slices.Repeat([]transcript.Message{{Turn: c.s.Open}}, 2*results+1)...))
	c.s.Open = 0
}

func (c *conversation) must(change transcript.Change, err error) {
	c.t.Helper()
	check.NoError(c.t, err)
	c.apply(change)
}

// count counts the contents of a span, as the store does.
func (c *conversation) count(sp transcript.Span) (n transcript.Stretch) {
	for _, seq := range c.between(sp) {
		if n.Messages == 0 {
			n.First = c.messages[seq].Time
		}
		n.Messages = n.Messages + 1
		n.Last = c.messages[seq].Time
	}
	return n
}

func (c *conversation) truncate(to int64) {
	c.t.Helper()
	span := transcript.Span{To: to}
	if len(c.s.Messages) > 0 {
		span.From = c.s.Messages[0].Seq
	}
	c.apply(c.s.Truncate([]transcript.Summary{{Span: span, Trigger: transcript.OnEmergency, AwaitsModel: true}}, 0))
}

// undo undoes the latest act, with what the store has of it now.
func (c *conversation) undo() error {
	c.t.Helper()
	if len(c.applied) == 0 {
		return transcript.ErrNothingApplied
	}
	var steps []transcript.Step
	for _, step := range slices.Backward(c.applied) {
		steps = append(steps, c.stored(step))
		if isAct(step) {
			break
		}
	}
	l := transcript.Undoable{Steps: transcript.ActIn(steps)}
	change, err := l.Undo(c.s)
	if err == nil {
		c.apply(change)
		undone := func(step transcript.Step) bool {
			return slices.ContainsFunc(l.Steps, func(s transcript.Step) bool { return has(s.Rows, step.Rows[0]) })
		}
		c.applied = slices.DeleteFunc(c.applied, undone)
	}
	return err
}

// isAct reports whether a step is more than a fold or a repair.
func isAct(step transcript.Step) bool {
	return slices.ContainsFunc(step.Rows, func(row transcript.Summary) bool {
		return row.Trigger != transcript.OnRollup && row.Trigger != transcript.OnRepair
	})
}

// stored returns a step as the store has it now.
func (c *conversation) stored(step transcript.Step) transcript.Step {
	now := func(rows []transcript.Summary) (found []transcript.Summary) {
		for _, row := range rows {
			found = append(found, c.summaries[row.ID])
		}
		slices.SortFunc(found, func(a, b transcript.Summary) int { return cmp.Compare(a.From, b.From) })
		return found
	}
	step.Rows = now(step.Rows)
	step.Ended = now(step.Ended)
	before := slices.DeleteFunc(slices.Clone(step.Ended), func(row transcript.Summary) bool { return has(step.Rows, row) })
	for _, row := range step.Rows {
		if has(step.Ended, row) {
			continue
		}
		for _, gap := range row.Gaps(before) {
			for _, seq := range c.between(gap) {
				step.Freed = append(step.Freed, chat.Message{Seq: seq, Turn: c.messages[seq].Turn, Time: c.messages[seq].Time})
			}
		}
	}
	return step
}

func has(rows []transcript.Summary, row transcript.Summary) bool {
	return slices.ContainsFunc(rows, func(other transcript.Summary) bool { return other.ID == row.ID })
}

func (c *conversation) shown() (shown []string) {
	for _, row := range c.s.Summaries {
		shown = append(shown, fmt.Sprintf("%s %d-%d", row.Kind, row.From, row.To))
	}
	for _, m := range c.s.Messages {
		shown = append(shown, fmt.Sprint(m.Seq))
	}
	return shown
}

func (c *conversation) status(id int64, want transcript.Status) {
	c.t.Helper()
	check.Equal(c.t, fmt.Sprintf("summary %d", id), c.summaries[id].State, want)
}
