package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/transcript"
)

// The head: everything above the verbatim messages.

func covered(stack []Summary, seq int64) bool {
	return slices.ContainsFunc(stack, func(row Summary) bool { return row.Covers(seq) })
}

// Types of package transcript, under the names of this package.
type (
	Summary  = transcript.Summary
	Kind     = transcript.Kind
	By       = transcript.By
	Trigger  = transcript.Trigger
	Declined = transcript.Declined
	Span     = transcript.Span

	Head    = transcript.Head
	Pin     = transcript.Pin
	Context = transcript.Context
	Sent    = transcript.Sent
)

// Kinds, authors, states and triggers of compactions, see transcript.
const (
	Leaf        = transcript.Leaf
	Rollup      = transcript.Rollup
	Placeholder = transcript.Placeholder

	ByWorker     = transcript.Worker
	ByExtractive = transcript.Extractive
	ByNobody     = transcript.Nobody

	Running  = transcript.Running
	Prepared = transcript.Prepared
	Applied  = transcript.Applied
	RolledUp = transcript.RolledUp
	Undone   = transcript.Undone
	Failed   = transcript.Failed
	Stale    = transcript.Stale

	OnBackground = transcript.OnBackground
	OnAggressive = transcript.OnAggressive
	OnEmergency  = transcript.OnEmergency
	OnManual     = transcript.OnManual
	OnSelf       = transcript.OnSelf
	OnReactive   = transcript.OnReactive
	OnRepair     = transcript.OnRepair
	OnRollup     = transcript.OnRollup
	OnPrepare    = transcript.OnPrepare
	OnNew        = transcript.OnNew
	OnRewrite    = transcript.OnRewrite
)

// Copies in the head: messages that stay visible when their originals do not. People pin them, and
// the first ones of a conversation often say what it is about.

// duplicate is a copy for the head.
type duplicate struct {
	line
	earlier bool // the original is from before the session, where nothing is verbatim
}

// minCopy is the smallest size that a copy is clipped to, in tokens: less of a message is
// meaningless.
const minCopy = 40

// duplicates returns the copies, by seq. Together they cost at most maxFirst tokens: pins come
// first, in the order in which they were pinned, so that no pin takes another one's place; then the
// first messages. What does not fit is clipped, or left out if too little of it would remain.
func duplicates(pins []Pin, first []chat.Message, sh shape) []duplicate {
	var copies []duplicate
	room := sh.maxFirst
	add := func(m chat.Message, earlier bool) {
		if slices.ContainsFunc(copies, func(d duplicate) bool { return d.Seq == m.Seq }) {
			return
		}
		l := copyOf(m, room)
		if l.tokens > room || l.tokens < copyOf(m, math.MaxInt).tokens && room < minCopy {
			return
		}
		room -= l.tokens
		copies = append(copies, duplicate{l, earlier})
	}
	for _, p := range pins {
		add(p.Message, p.Earlier)
	}
	messages := 0
	turns := 0
	turn := int64(0)
	for _, m := range first {
		if m.Turn != turn {
			turn = m.Turn
			turns = turns + 1
		}
		if m.Role == llm.RoleUser {
			messages++
		}
		if m.Role == llm.RoleUser && messages <= sh.firstKeep || turns <= sh.firstTurns {
			add(m, false)
		}
	}
	slices.SortFunc(copies, func(a, b duplicate) int { return cmp.Compare(a.Seq, b.Seq) })
	return copies
}

// copyOf returns a copy of at most most tokens, unless its heading takes more: text alone, without
// pictures and calls.
func copyOf(m chat.Message, most int) line {
	if m.Role != llm.RoleUser {
		m.Role = llm.RoleUser
		m.Author = "you, the assistant" // the head is one message, so it must say who spoke
		m.Calls = nil
		m.Native = nil
		m.CallID = ""
		m.Tokens = 0
		m.Attachments = nil // the text of a tool's result mentions its pictures
	}
	l := lineOf(m, shape{clipTo: most})
	l.tokens -= l.pictures * chat.PictureTokens
	l.pictures = 0
	return l
}

// PinCost is the cost of a pin's copy.
type PinCost struct {
	Shown int // tokens in the head; 0: it does not fit
	Whole int // tokens without clipping
}

// PinCosts returns the costs of the copies of pins, in their order, if they share budget tokens
// with the first messages, see Status.PinBudget.
func PinCosts(pins []Pin, budget int) (costs []PinCost) {
	copies := duplicates(pins, nil, shape{maxFirst: budget})
	for _, p := range pins {
		cost := PinCost{Whole: copyOf(p.Message, math.MaxInt).tokens}
		if i := slices.IndexFunc(copies, func(d duplicate) bool { return d.Seq == p.Seq }); i >= 0 {
			cost.Shown = copies[i].tokens
		}
		costs = append(costs, cost)
	}
	return costs
}

// Sessions: what lies between two /new of a conversation. The head shows summaries of earlier ones,
// and of the conversation that a thread belongs to, within half of the stack's budget.

// past is the part of the head from before the session, oldest first.
type past struct {
	entries []entry
	tokens  int
}

// entry is one text of the head.
type entry struct {
	row    Summary // that it shows; its Kind is "": none
	own    bool    // row is the conversation's own; otherwise inherited
	root   bool    // it shows the thread's parent message
	text   string
	tokens int
}

func (p past) shows(row int64) bool {
	return slices.ContainsFunc(p.entries, func(e entry) bool { return e.own && e.row.ID == row })
}

// newSession separates earlier sessions from the current one.
const newSession = "[System: here somebody began anew with /new; what stands above is from before]"

var newSessionTokens = tokens.PerMessage + tokens.Estimate(newSession)

// shownPast chooses what the head shows: the newest rows of the newest sessions, then what the
// thread inherited, its parent message first, until one does not fit. Of that one it shows what fits.
func shownPast(h Head, sh shape) (p past) {
	defer func() { slices.Reverse(p.entries) }()
	add := func(e entry, whole bool) bool {
		if e.tokens == 0 || p.tokens+e.tokens > sh.maxPast {
			return false
		}
		p.entries = append(p.entries, e)
		p.tokens = p.tokens + e.tokens
		return whole
	}
	for n, session := range slices.Backward(h.Earlier) {
		if len(h.Earlier)-n > sh.pastSessions {
			return p
		}
		for _, row := range slices.Backward(session.Rows) {
			begin := entry{text: newSession, tokens: newSessionTokens}
			if len(p.entries) > 0 {
				begin = entry{}
			}
			e, whole := entryOf(row, Summary.Render, sh.maxPast-p.tokens-begin.tokens)
			e.own = true
			if e.tokens > 0 {
				add(begin, true)
			}
			if !add(e, whole) {
				return p
			}
		}
	}
	if root := h.Inherited.Root; root != nil && !add(rootEntry(*root, sh.maxPast/rootShare), true) {
		return p
	}
	for _, row := range slices.Backward(h.Inherited.Stack) {
		e, whole := entryOf(row, Summary.RenderInherited, sh.maxPast-p.tokens)
		if !add(e, whole) {
			return p
		}
	}
	return p
}

// entryOf returns a row as render shows it, in at most most tokens: a longer one without its least
// important sentences. It costs nothing if too little would be left.
func entryOf(row Summary, render func(Summary) string, most int) (e entry, whole bool) {
	if row.Tokens <= most {
		return entry{row: row, text: render(row), tokens: row.Tokens}, true
	}
	short := row
	short.Text = ""
	short.Lines = nil
	room := most - tokens.PerMessage - tokens.Estimate(render(short)) - 1 // sums of parts are rounded up
	if row.Kind == Placeholder || room < summarize.MinSummary {
		return entry{}, false
	}
	short.Text = summarize.ShortenSummary(row.Marked(), room)
	text := render(short)
	return entry{row: row, text: text, tokens: tokens.PerMessage + tokens.Estimate(text)}, false
}

// rootShare is the part of the past's budget that a thread's parent message may take: 1/2.
const rootShare = 2

// rootEntry shows a thread's parent message in at most most tokens, unless its heading alone takes
// more.
func rootEntry(m chat.Message, most int) entry {
	who := "you"
	if m.Role == llm.RoleUser {
		who = chat.CleanName(m.Author)
	}
	if to := chat.RepliedTo(m); to != "" {
		who += ", replying to " + to
	}
	line := fmt.Sprintf("[System: this thread hangs on a message of %s by %s]\n", chat.Time(m.Time), who)
	text := line + chat.Escape(m.Body())
	if tokens.PerMessage+tokens.Estimate(text) > most {
		if short := chat.Excerpt(m.Quote, shortQuote); short != m.Quote && m.ReplySeq == 0 {
			m.Quote = short
			return rootEntry(m, most)
		}
		rest := most - tokens.PerMessage - tokens.Estimate(line)
		text = line + chat.Escape(tokens.Clip(m.Body(), max(rest, 0)))
	}
	return entry{root: true, text: text, tokens: tokens.PerMessage + tokens.Estimate(text)}
}

// withRow returns h with row, in a stack that it may change.
func withRow(h Head, row Summary) Head {
	if row.From >= h.Start {
		h.Stack = insert(h.Stack, row)
		return h
	}
	h.Earlier = slices.Clone(h.Earlier)
	for i, s := range h.Earlier {
		if s.From <= row.From && row.To <= s.To {
			h.Earlier[i].Rows = insert(slices.Clone(s.Rows), row)
		}
	}
	return h
}

// StartSession puts the verbatim messages behind a placeholder, which is summarized in the
// background, and starts a new session. It does not wait for a model. started is false if the
// current session is empty. Call it on the owner's goroutine, between turns.
func (c *Compactor) StartSession(ctx context.Context) (started bool, err error) {
	change, err := c.commit(ctx, func(s *transcript.State) (transcript.Change, error) {
		change, err := s.NewSession(len(c.h.first) > 0) // talk without the bot is not worth a model
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
