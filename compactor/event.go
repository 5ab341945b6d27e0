package compactor

import "log/slog"

// EventState says what happened to a compaction.
type EventState string

// The states an event tells of.
const (
	EventScheduled EventState = "scheduled" // what somebody wants begins when what is running has ended
	EventStarted   EventState = "started"
	EventPrepared  EventState = "prepared"
	EventApplied   EventState = "applied"
	EventFailed    EventState = "failed"
	EventNoop      EventState = "noop"
	EventUndone    EventState = "undone"
)

// EventStates are all of them.
var EventStates = []EventState{EventScheduled, EventStarted, EventPrepared, EventApplied, EventFailed, EventNoop, EventUndone}

// Triggers are all that an event can have.
var Triggers = []Trigger{OnBackground, OnAggressive, OnEmergency, OnManual, OnSelf, OnReactive, OnRepair, OnRollup, OnPrepare, OnNew}

// Event tells of one step of a compaction. The same value goes to the log, to the
// callbacks, to the connectors, to --json and to /context.
type Event struct {
	ID           int64      `json:"id"` // the row; 0: there is none
	State        EventState `json:"state"`
	Trigger      Trigger    `json:"trigger"`
	Kind         Kind       `json:"kind"`
	By           By         `json:"by"`
	From         int64      `json:"from_seq"`
	To           int64      `json:"to_seq"`
	Messages     int        `json:"messages"`
	BeforeTokens int        `json:"before_tokens"` // used before, of the next request, reserve included
	AfterTokens  int        `json:"after_tokens"`  // used after; 0 until it was applied
	Window       int        `json:"window"`        // tokens
	Summary      string     `json:"summary"`
	Error        string     `json:"error"` // why it failed or why there was nothing to do

	// Set is what was applied or undone in one step, this row among it, by From; of a
	// start what is ready before it and will be applied with it.
	Set []Compaction `json:"-"`
}

// attrs are a job's, for those who observe its making.
func (j *job) attrs() []slog.Attr {
	return []slog.Attr{
		slog.Int64("id", j.row.ID), slog.String("trigger", string(j.row.Trigger)), slog.String("kind", string(j.row.Kind)),
		slog.String("by", string(j.row.By)), slog.Int64("from_seq", j.row.From), slog.Int64("to_seq", j.row.To),
	}
}

// LogValue is the event as a log holds it: all of it but the summary, for what people
// said does not belong there.
func (e Event) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Int64("id", e.ID), slog.String("state", string(e.State)), slog.String("trigger", string(e.Trigger)),
		slog.String("kind", string(e.Kind)), slog.String("by", string(e.By)), slog.Int64("from_seq", e.From), slog.Int64("to_seq", e.To),
		slog.Int("messages", e.Messages), slog.Int("before_tokens", e.BeforeTokens), slog.Int("after_tokens", e.AfterTokens),
		slog.Int("window", e.Window), slog.String("error", e.Error),
	)
}
