package compactor

import (
	"cmp"
	"fmt"
	"slices"

	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/testkit/llmtest"
	"cairn/transcript"
)

// Speak addresses a message to the bot.
func (c *Compactor) Speak() { c.view.addressed = true }

// Sight returns the current view. Unlike Request it starts no work.
func (c *Compactor) Sight() []llm.Message {
	return new(transcript.Rendering).Next(c.o.System, c.view.View)
}

// Prospect describes what is wrong with the planned view, with everything prepared applied; "" if nothing is.
func (c *Compactor) Prospect() string {
	s := c.view
	kept := c.now().ahead()
	covered := func(rows []Summary, seq int64) bool {
		return slices.ContainsFunc(rows, func(row Summary) bool { return row.Covers(seq) })
	}
	rest := slices.DeleteFunc(slices.Clone(s.Messages), func(m transcript.Verbatim) bool { return covered(c.view.prepared(), m.Seq) })
	seqs := func(lines []transcript.Verbatim) (seqs []int64) {
		for _, l := range lines {
			seqs = append(seqs, l.Seq)
		}
		return seqs
	}
	past := transcript.NewView(transcript.Snapshot{Head: kept.Head}, kept.Shape, summarize.ShortenSummary).Past.Tokens
	switch {
	case !slices.Equal(seqs(kept.Messages), seqs(rest)):
		return fmt.Sprintf("messages %v, not %v", seqs(kept.Messages), seqs(rest))
	case kept.MessageCost != transcript.CostOf(rest) || kept.Past.Tokens != past:
		return fmt.Sprintf("%d and %d tokens, not %d and %d", kept.MessageCost, kept.Past.Tokens, transcript.CostOf(rest), past)
	}
	for _, row := range c.view.prepared() {
		if row.From >= kept.Head.Start && !covered(kept.Head.Stack, row.From) {
			return fmt.Sprintf("no row over %d", row.From)
		}
	}
	return ""
}

// Transcript is the state for decisions; nil if it must be reread first.
func (c *Compactor) Transcript() *transcript.State {
	if c.outdated {
		return nil
	}
	return c.view.current(c.rows())
}

// Rebuilt is the state for decisions, made anew from the view.
func (c *Compactor) Rebuilt() *transcript.State {
	v := c.view
	messages := slices.Concat(v.Messages, v.Hidden)
	slices.SortFunc(messages, func(a, b transcript.Verbatim) int { return cmp.Compare(a.Seq, b.Seq) })
	var verbatim []transcript.Message
	for _, m := range messages {
		if m.Seq <= v.stored() {
			verbatim = append(verbatim, transcript.MessageOf(*m.Message))
		}
	}
	s := transcript.NewState(v.Head, verbatim, c.view.prepared(), v.state.NextSeq)
	s.Open = v.Open
	s.Running = c.view.current(c.rows()).Running
	return s
}

// Refused returns what a strict provider rejects in a request, whose adjacent messages of users its
// protocol joins; "" if nothing.
func Refused(messages []llm.Message) string { return llmtest.Refused(llmtest.Joined(messages)) }

// Row returns the row of a piece of work; summarizes says whether the piece makes its summary.
func (w Work) Row() (row Summary, summarizes bool) {
	_, summarizes = w.step.(summarizing)
	return w.row, summarizes
}

func StackCost(rows []Summary) int { return transcript.StackCost(rows) }

func (c *Compactor) Filling() bool { return c.filling != nil }

// HeadLength and Spare belong to the last request.
func (c *Compactor) HeadLength() int { return c.lastRequest.rendering.HeadLen() }
func (c *Compactor) Spare() int      { return max(c.lastRequest.spare, 1) }
