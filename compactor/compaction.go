package compactor

import "time"

// Kind says what a compaction's text is.
type Kind string

// The kinds of compaction.
const (
	Leaf   Kind = "leaf"   // a summary of messages
	Rollup Kind = "rollup" // a summary of summaries
	Marker Kind = "marker" // truncated: says only that something is hidden
)

// By says who made a compaction.
type By string

// The makers of compactions.
const (
	ByWorker    By = "worker"    // a model
	ByBuiltIn   By = "built-in"  // the summarizer that needs no model
	ByEmergency By = "emergency" // nobody: the messages were hidden
)

// RowState is where a compaction's row stands in its life:
// running -> staged -> active -> folded | replaced | undone; running -> failed;
// running or staged -> stale.
type RowState string

// The states of a row.
const (
	Running  RowState = "running"
	Staged   RowState = "staged"   // stored, not yet in the view
	Active   RowState = "active"   // stands in the view in place of its span
	Folded   RowState = "folded"   // stands in the view through its parent
	Replaced RowState = "replaced" // a better row, or the parts of it, took its place
	Undone   RowState = "undone"
	Failed   RowState = "failed"
	Stale    RowState = "stale" // what it read is no longer what stands there
)

// Trigger says why a compaction was begun.
type Trigger string

// The triggers.
const (
	OnBackground Trigger = "background"
	OnAggressive Trigger = "aggressive"
	OnEmergency  Trigger = "emergency"
	OnManual     Trigger = "manual"
	OnSelf       Trigger = "self"
	OnReactive   Trigger = "reactive"
	OnHeal       Trigger = "heal"
	OnRollup     Trigger = "rollup"
	OnPrepare    Trigger = "prepare" // ahead of the level that will need it
	OnNew        Trigger = "new"     // somebody began a new segment
)

// MaxLevel bounds how often a text is summed up again: 0 is a leaf or a marker,
// a rollup stands one above its highest child.
const MaxLevel = 12

// Compaction is a row that hides a span of whole turns from the view behind a text.
type Compaction struct {
	ID      int64
	Kind    Kind
	By      By
	State   RowState
	Trigger Trigger
	Level   int

	From, To         int64 // the span, both ends included
	FromTime, ToTime time.Time
	Messages         int     // how many messages the span holds, deleted ones not counted
	Children         []int64 // of a rollup: the rows it folds, oldest first
	Sources          []int64 // of the built-in summarizer: the messages a fold of it chooses among; 0 is what workers wrote below it

	Text   string // the summary; empty for a marker, whose words are made when rendered
	Tokens int    // what it costs in the view, see TokensOfCompaction

	Model      string // the worker's model; empty for the others
	Focus      string // what the one who asked wants kept, in their words
	PolicyHash string // of the policy the job started with
	Error      string // why it failed, in words for people

	cut      bool     // only a part of the row, as a plan sees it; its text may tell of the rest
	Owed     bool     // a model is still to summarize it
	Declined Declined // by a model, while it was owed
}

// Declined says how often in a row, when last, and which model declined to summarize a span.
type Declined struct {
	Times int
	At    time.Time
	By    string
}

// Covers reports whether seq lies in the compaction's span.
func (c Compaction) Covers(seq int64) bool { return c.From <= seq && seq <= c.To }

// NeedsHealing reports whether the row stands in for a better summary: a marker,
// or a text the built-in summarizer made. There is no queue of such rows: what is
// active and needs healing is to be healed.
func (c Compaction) NeedsHealing() bool { return c.Kind == Marker || c.By == ByBuiltIn }

// Head is what stands above the verbatim messages, as the store last committed it.
type Head struct {
	Generation int64        // raised by every change of the head, in its transaction
	Stack      []Compaction // the active rows of the segment, by From
	ClearedTo  int64        // tool results up to this seq are shown cleared or shortened; 0: none
	Pins       []Pin        // what people pinned, in the order in which they did

	Start     int64       // the first seq of the segment
	Earlier   []Segment   // oldest first: those that may be shown, and of older ones those that need work
	Inherited Inheritance // of a thread

	// What somebody took back is left alone until the aggressive level: messages that
	// were set free, and rows that came back to be healed. Both ends included; 0: nothing.
	SparedFrom, SparedTo int64
}

// Spares reports whether some of [from, to] is to be left alone.
func (h Head) Spares(from, to int64) bool { return from <= h.SparedTo && h.SparedFrom <= to }

// Pin is a message that somebody wants to be in sight.
type Pin struct {
	Message
	Earlier bool   // it stands before the segment: it is in sight through its copy alone
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
	Sources  []int64       // of the built-in summarizer, see Compaction
	Memories []MemoryDraft // of the built-in summarizer; a worker saves through its job's tool
	Beside   Beside        // what a worker read for reference
}

// Beside is what stands beside a span and was read with it.
type Beside struct {
	Rows     []int64 // ids of compactions
	Messages []int64 // seqs
}
