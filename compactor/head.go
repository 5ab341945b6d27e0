package compactor

import (
	"cmp"
	"math"
	"slices"

	"cairn/chat"
	"cairn/llm"
	"cairn/transcript"
)

// The head: everything above the verbatim messages.

func covered(stack []Compaction, seq int64) bool {
	return slices.ContainsFunc(stack, func(row Compaction) bool { return row.Covers(seq) })
}

// Types of package transcript, under the names of this package.
type (
	Compaction = transcript.Summary
	Kind       = transcript.Kind
	By         = transcript.By
	RowState   = transcript.Status
	Trigger    = transcript.Trigger
	Declined   = transcript.Declined
	Span       = transcript.Span

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
	Replaced = transcript.Replaced
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
		if l.tokens > room || l.tokens < wholeCopy(m) && room < minCopy {
			return
		}
		room -= l.tokens
		copies = append(copies, duplicate{l, earlier})
	}
	for _, p := range pins {
		add(p.Message, p.Earlier)
	}
	messages, turns, turn := 0, 0, int64(0)
	for _, m := range first {
		if m.Turn != turn {
			turn, turns = m.Turn, turns+1
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
		m.Role, m.Author = llm.RoleUser, "you, the assistant" // the head is one message, so it must say who spoke
		m.Calls, m.Native, m.CallID, m.Tokens = nil, nil, "", 0
	}
	l := lineOf(m, shape{clipTo: most})
	l.tokens -= l.pictures * chat.PictureTokens
	l.pictures = 0
	return l
}

func wholeCopy(m chat.Message) int { return copyOf(m, math.MaxInt).tokens }

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
		cost := PinCost{Whole: wholeCopy(p.Message)}
		if i := slices.IndexFunc(copies, func(d duplicate) bool { return d.Seq == p.Seq }); i >= 0 {
			cost.Shown = copies[i].tokens
		}
		costs = append(costs, cost)
	}
	return costs
}
