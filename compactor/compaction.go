package compactor

import (
	"time"

	"cairn/chat"
	"cairn/transcript"
)

// What package transcript knows, in the words of this package.
type (
	Compaction = transcript.Summary
	Kind       = transcript.Kind
	By         = transcript.By
	RowState   = transcript.Status
	Trigger    = transcript.Trigger
	Declined   = transcript.Declined
	Span       = transcript.Span
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

// Head is what stands above the verbatim messages, as the store last committed it.
type Head struct {
	Version   int64        // raised by every change of the head, in its transaction
	Stack     []Compaction // the applied rows of the session, by From
	ClearedTo int64        // tool results up to this seq are shown cleared or shortened; 0: none
	Pins      []Pin        // what people pinned, in the order in which they did

	Start     int64       // the first seq of the session
	Earlier   []Session   // oldest first: those that may be shown, and of older ones those that need work
	Inherited Inheritance // of a thread

	// What somebody undid is left alone until the aggressive level: messages that
	// were set free, and rows that came back to be repaired. Both ends included; 0: nothing.
	SparedFrom, SparedTo int64
}

// Spares reports whether some of [from, to] is to be left alone.
func (h Head) Spares(from, to int64) bool { return from <= h.SparedTo && h.SparedFrom <= to }

// Pin is a message that somebody wants to be in sight.
type Pin struct {
	chat.Message
	Earlier bool   // it stands before the session: it is in sight through its copy alone
	By      string // who pinned it
	At      time.Time
}

// MemoryDraft is a memory a summarizer wants kept.
type MemoryDraft struct {
	ID         int64   // given by the store when it is saved
	Kind       string  // identity, goal, decision, todo, preference, fact, event, observation
	Content    string  // stands alone, names who it is about
	Importance float64 // 0 to 1; 0 takes the kind's default
	Messages   []int64 // seqs it was taken from, inside the span
	About      string  // a speaker of the conversation, by name; empty: whoever said it
}

// Summary is what a summarizer makes of a span.
type Summary struct {
	Text     string
	Tokens   int           // see TokensOfCompaction
	Model    string        // that wrote it, if not the one the row was begun with; else empty
	Sources  []int64       // of the extractive summarizer, see Compaction
	Memories []MemoryDraft // of the extractive summarizer; a worker saves through its job's tool
	Beside   Beside        // what a worker read for reference
}

// Beside is what stands beside a span and was read with it.
type Beside struct {
	Rows     []int64 // ids of compactions
	Messages []int64 // seqs
}
