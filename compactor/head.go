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

	Head        = transcript.Head
	Session     = transcript.Session
	Pin         = transcript.Pin
	Inheritance = transcript.Inheritance
	Context     = transcript.Context
	Count       = transcript.Count
	Sent        = transcript.Sent
	Undoable    = transcript.Undoable
)

// Kinds, makers, states and triggers of compactions, see transcript.
const (
	Leaf        = transcript.Leaf
	Rollup      = transcript.Rollup
	Placeholder = transcript.Placeholder

	ByWorker     = transcript.Worker
	ByExtractive = transcript.Extractive
	ByEmergency  = transcript.Nobody

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

	MaxLevel = transcript.MaxLevel
)

// Copies in the head: messages that stay in sight when their originals do not.
// People pin them, and the first ones of a conversation often say what it is about.

// duplicate is a copy for the head.
type duplicate struct {
	line
	earlier bool // the original is from before the session, where nothing is verbatim
}

// leastCopy is the smallest size that a copy is clipped to, in tokens: less of a message says
// nothing.
const leastCopy = 40

// duplicates makes the copies, by seq. Together they cost at most their budget:
// what people pinned comes first, in the order in which they did, so that no pin
// takes another one's place; then the first messages. What does not fit is clipped,
// or left out where too little of it would remain.
func duplicates(pins []Pin, first []chat.Message, sh shape) []duplicate {
	var copies []duplicate
	room := sh.firstMost
	add := func(m chat.Message, earlier bool) {
		if slices.ContainsFunc(copies, func(d duplicate) bool { return d.Seq == m.Seq }) {
			return
		}
		l := copyOf(m, room)
		if l.tokens > room || l.tokens < wholeCopy(m) && room < leastCopy {
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

// copyOf is a copy in at most so many tokens, if its heading leaves room for that:
// words alone, without pictures and calls.
func copyOf(m chat.Message, most int) line {
	if m.Role != llm.RoleUser {
		m.Role, m.Author = llm.RoleUser, "you, the assistant" // the head is one message: it must say who spoke
		m.Calls, m.Native, m.CallID, m.Tokens = nil, nil, "", 0
	}
	l := lineOf(m, shape{clipTo: most})
	l.tokens -= l.pictures * chat.PictureTokens
	l.pictures = 0
	return l
}

func wholeCopy(m chat.Message) int { return copyOf(m, math.MaxInt).tokens }

// PinCost says what a pin's copy costs.
type PinCost struct {
	Shown int // tokens in the head; 0: it does not fit
	Whole int // tokens without clipping
}

// PinCosts returns what the copies of pins cost, in their order, where they share so many tokens
// with the first messages, see Status.PinBudget.
func PinCosts(pins []Pin, budget int) (costs []PinCost) {
	copies := duplicates(pins, nil, shape{firstMost: budget})
	for _, p := range pins {
		cost := PinCost{Whole: wholeCopy(p.Message)}
		if i := slices.IndexFunc(copies, func(d duplicate) bool { return d.Seq == p.Seq }); i >= 0 {
			cost.Shown = copies[i].tokens
		}
		costs = append(costs, cost)
	}
	return costs
}
