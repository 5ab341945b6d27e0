package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/transcript"
)

// Sessions: what lies between two /new of a conversation. Of the earlier ones, and
// of the conversation that a thread hangs on, the head shows summaries, as far as
// half of the stack's budget goes.

// past is what the head shows of the time before the session, oldest first.
type past struct {
	entries []entry
	tokens  int
}

// entry is one text of the head.
type entry struct {
	row    int64 // of an own compaction
	text   string
	tokens int
}

func (p past) shows(row int64) bool {
	return slices.ContainsFunc(p.entries, func(e entry) bool { return e.row == row })
}

// newSession stands between what is shown of earlier sessions and the current one.
const newSession = "[System: here somebody began anew with /new; what stands above is from before]"

// shownPast chooses what is shown: the newest rows of the newest sessions, then what
// the thread inherited, the message it hangs on first, until one does not fit.
func shownPast(h Head, sh shape) (p past) {
	defer func() { slices.Reverse(p.entries) }()
	add := func(e entry) bool {
		if p.tokens+e.tokens > sh.pastMost {
			return false
		}
		p.entries, p.tokens = append(p.entries, e), p.tokens+e.tokens
		return true
	}
	for n := range h.Earlier {
		if n == sh.pastSessions {
			return p
		}
		rows := h.Earlier[len(h.Earlier)-1-n].Rows
		for i := range rows {
			row := rows[len(rows)-1-i]
			if len(p.entries) == 0 {
				line := entry{text: newSession, tokens: tokens.PerMessage + tokens.Estimate(newSession)}
				if line.tokens+row.Tokens > sh.pastMost {
					return p
				}
				add(line)
			}
			if !add(entry{row.ID, row.Render(), row.Tokens}) {
				return p
			}
		}
	}
	if root := h.Inherited.Root; root != nil && !add(rootEntry(*root, sh.pastMost/rootShare)) {
		return p
	}
	for _, row := range slices.Backward(h.Inherited.Stack) {
		if !add(entry{text: row.RenderInherited(), tokens: row.Tokens}) {
			return p
		}
	}
	return p
}

// rootShare is the share of what is shown of the past that the message a thread
// hangs on may take: 1/2.
const rootShare = 2

// rootEntry shows the message a thread hangs on in at most most tokens, unless its
// first line alone has more.
func rootEntry(m chat.Message, most int) entry {
	who := "you"
	if m.Role == llm.RoleUser {
		who = chat.CleanName(m.Author)
	}
	if to := chat.CleanLine(m.Quote, 100); to != "" {
		who += ", replying to " + to
	}
	line := fmt.Sprintf("[System: this thread hangs on a message of %s by %s]\n", m.Time.Format(chat.TimeFormat), who)
	text := line + chat.Escape(m.Body())
	if rest := most - tokens.PerMessage - tokens.Estimate(line); tokens.PerMessage+tokens.Estimate(text) > most {
		text = line + chat.Escape(tokens.Clip(m.Body(), max(rest, 0)))
	}
	return entry{text: text, tokens: tokens.PerMessage + tokens.Estimate(text)}
}

// withRow returns the head as it would be if row was applied.
func withRow(h Head, row Compaction) Head {
	if row.From >= h.Start {
		h.Stack = insert(h.Stack, row)
		return h
	}
	h.Earlier = slices.Clone(h.Earlier)
	for i, s := range h.Earlier {
		if s.From <= row.From && row.To <= s.To {
			h.Earlier[i].Rows = insert(s.Rows, row)
		}
	}
	return h
}

// stackCost returns what counts against the stack's budget, in tokens.
func headCost(h Head, sh shape) int { return stackCost(h.Stack) + shownPast(h, sh).tokens }

// foldable are the rows of an earlier session that are to be folded next, the
// newest session first; none if one row stands for each. All that lies in such a
// session is behind its rows, so any two in order are neighbours.
func foldable(h Head, fanIn int, but func(Compaction) bool) []Compaction {
	for _, s := range slices.Backward(h.Earlier) {
		rows := s.Rows[max(len(s.Rows)-fanIn, 0):] // the newest: the oldest have been folded most often
		if len(rows) >= 2 && !slices.ContainsFunc(rows, but) {
			return rows
		}
	}
	return nil
}

// StartSession puts what is verbatim behind a placeholder, which is summarized in the
// background, and begins a new session. It waits for no model. started is false if
// nothing was said in the current one. It belongs to the conversation's owner, between turns.
func (c *Compactor) StartSession(ctx context.Context) (started bool, err error) {
	change, err := c.commit(ctx, func(s *transcript.State) (transcript.Change, error) {
		change, err := s.NewSession(len(c.h.first) > 0) // nobody pays for talk in which the bot had no part
		if errors.Is(err, transcript.ErrEmpty) {
			err = nil
		}
		return change, err
	})
	if err != nil || change.Empty() {
		return false, err
	}
	c.tokenDeficit = 0
	c.Check(ctx)
	return true, nil
}

// Past is what a conversation has of the time before its session.
type Past struct {
	Earlier   []Session // oldest first: those that may be shown, and of older ones those that need work
	Inherited Inheritance
	Shown     map[int64]bool // own rows that stand in the view, by id
	Tokens    int            // what of it stands in the view
}

func (s view) pastOf() Past {
	p := Past{Earlier: s.head.Earlier, Inherited: s.head.Inherited, Shown: make(map[int64]bool), Tokens: s.past.tokens}
	for _, e := range s.past.entries {
		if e.row != 0 {
			p.Shown[e.row] = true
		}
	}
	return p
}
