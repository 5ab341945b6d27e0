// Copies in the head: messages that stay visible when their originals do not. People pin them, and
// the first ones of a conversation often say what it is about.

package transcript

import (
	"cmp"
	"math"
	"slices"

	"cairn/chat"
	"cairn/llm"
)

// copied is a message's copy for the head.
type copied struct {
	Verbatim
	earlier bool // the original is from before the session, where nothing is verbatim
}

// minCopy is the smallest size that a copy is clipped to, in tokens: less of a message is
// meaningless.
const minCopy = 40

// copiesOf returns the copies, by seq. Together they cost at most sh.MaxCopies tokens: pins come
// first, in the order in which they were pinned, so that no pin takes another one's place; then the
// first messages. What does not fit is clipped, or left out if too little of it would remain.
func copiesOf(pins []Pin, first []chat.Message, sh Shape) []copied {
	l := copyList{room: sh.MaxCopies}
	for _, p := range pins {
		l.add(p.Message, p.Earlier)
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
		if m.Role == llm.RoleUser && messages <= sh.KeepFirst || turns <= sh.KeepFirstTurns {
			l.add(m, false)
		}
	}
	slices.SortFunc(l.copies, func(a, b copied) int { return cmp.Compare(a.Seq, b.Seq) })
	return l.copies
}

// copyList are copies, and the room for more, in tokens.
type copyList struct {
	copies []copied
	room   int
}

func (l *copyList) add(m chat.Message, earlier bool) {
	if slices.ContainsFunc(l.copies, func(c copied) bool { return c.Seq == m.Seq }) {
		return
	}
	c := copyOf(m, l.room)
	if c.As.Tokens > l.room || c.As.Tokens < copyOf(m, math.MaxInt).As.Tokens && l.room < minCopy {
		return
	}
	l.room -= c.As.Tokens
	l.copies = append(l.copies, copied{c, earlier})
}

// copyOf returns a copy of at most limit tokens, unless its heading takes more: text alone, without
// pictures and calls.
func copyOf(m chat.Message, limit int) Verbatim {
	if m.Role != llm.RoleUser {
		m.Role = llm.RoleUser
		m.Author = "you, the assistant" // the head is one message, so it must say who spoke
		m.Calls = nil
		m.Native = nil
		m.CallID = ""
		m.Tokens = 0
		m.Attachments = nil // the text of a tool's result mentions its pictures
	}
	c := Show(m, Shape{ClipTo: limit})
	c.As.Tokens -= c.As.Pictures * chat.PictureTokens
	c.As.Pictures = 0
	return c
}

// PinCost is the cost of a pin's copy.
type PinCost struct {
	Tokens int // tokens in the head; 0: it does not fit
	Full   int // tokens without clipping
}

// PinCosts returns the costs of the copies of pins, in their order, if they share budget tokens
// with the first messages.
func PinCosts(pins []Pin, budget int) (costs []PinCost) {
	copies := copiesOf(pins, nil, Shape{MaxCopies: budget})
	for _, p := range pins {
		cost := PinCost{Full: copyOf(p.Message, math.MaxInt).As.Tokens}
		if i := slices.IndexFunc(copies, func(c copied) bool { return c.Seq == p.Seq }); i >= 0 {
			cost.Tokens = copies[i].As.Tokens
		}
		costs = append(costs, cost)
	}
	return costs
}

// IsFirst reports whether m, the next message of a session, belongs to Snapshot.First; first
// contains those before it.
func IsFirst(first []chat.Message, m chat.Message) bool {
	questions := 0
	for _, f := range first {
		if f.Role == llm.RoleUser {
			questions++
		}
	}
	if m.Role == llm.RoleUser {
		return m.Addressed && questions < MaxFirst
	}
	if len(first) == 0 || m.Role != llm.RoleAssistant || len(m.Calls) > 0 || m.Text == "" {
		return false
	}
	last := first[len(first)-1]
	return last.Turn == m.Turn && last.Role == llm.RoleUser
}
