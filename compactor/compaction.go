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
