package compactor

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"cairn/llm"
)

// EventState says what happened to a compaction.
type EventState string

// The states of an event.
const (
	EventScheduled EventState = "scheduled" // a requested compaction starts when the running one has ended
	EventStarted   EventState = "started"
	EventPrepared  EventState = "prepared"
	EventApplied   EventState = "applied"
	EventFailed    EventState = "failed"
	EventNoop      EventState = "noop"
	EventUndone    EventState = "undone"
)

// EventStates lists all states.
var EventStates = []EventState{EventScheduled, EventStarted, EventPrepared, EventApplied, EventFailed, EventNoop, EventUndone}

// Triggers lists all triggers of events.
var Triggers = []Trigger{OnBackground, OnAggressive, OnEmergency, OnManual, OnSelf, OnReactive, OnRepair, OnRollup, OnPrepare, OnNew}

// Event is one step of a compaction. The same value goes to the log, callbacks, connectors, --json
// and /context.
type Event struct {
	ID           int64      `json:"id"` // the row; 0: none
	State        EventState `json:"state"`
	Trigger      Trigger    `json:"trigger"`
	Kind         Kind       `json:"kind"`
	By           By         `json:"by"`
	From         int64      `json:"from_seq"`
	To           int64      `json:"to_seq"`
	Messages     int        `json:"messages"`
	BeforeTokens int        `json:"before_tokens"` // tokens of the next request before, reserve included
	AfterTokens  int        `json:"after_tokens"`  // the same afterwards; 0 until it is applied
	Window       int        `json:"window"`        // tokens
	Summary      string     `json:"summary"`
	Error        string     `json:"error"` // why it failed or why there was nothing to do

	// Set contains the rows applied or undone in one step, this one among them, by From.
	Set []Compaction `json:"-"`
}

func (e Event) attrs() []slog.Attr {
	return []slog.Attr{
		slog.Int64("id", e.ID), slog.String("trigger", string(e.Trigger)), slog.String("kind", string(e.Kind)),
		slog.String("by", string(e.By)), slog.Int64("from_seq", e.From), slog.Int64("to_seq", e.To),
	}
}

// LogValue returns the event without the summary: people's words do not belong in the log.
func (e Event) LogValue() slog.Value {
	return slog.GroupValue(append(e.attrs(), slog.String("state", string(e.State)),
		slog.Int("messages", e.Messages), slog.Int("before_tokens", e.BeforeTokens), slog.Int("after_tokens", e.AfterTokens),
		slog.Int("window", e.Window), slog.String("error", e.Error))...)
}

// Callbacks: Before may veto a job, After receives the result.

// Proposal is a job that is about to start.
type Proposal struct {
	Event         // EventStarted, with ID 0; BeforeTokens is what is used now
	Tokens int    // estimated tokens of the span; 0: unknown before it is read, as for a repair
	Focus  string // what the summary should keep, by policy or request; "": nothing special
}

// before calls Before for a job that is about to start.
func (c *Compactor) before(ctx context.Context, p Proposal) (focus string, veto error) {
	defer c.recoverCallback("before") // a panic vetoes nothing
	return c.o.Before(ctx, p)
}

func (c *Compactor) after(e Event) {
	defer c.recoverCallback("after")
	if c.o.After != nil {
		c.o.After(e)
	}
}

// vetoed reports a veto. Except for OnManual it pauses the trigger for the cooldown.
func (c *Compactor) vetoed(j *job, reason error) {
	if j.row.Trigger != OnManual { // people may ask again
		until := c.o.Now().Add(max(time.Duration(j.policy.Cooldown), minVeto))
		c.retries.vetoes[j.row.Trigger] = veto{reason.Error(), until}
	}
	e := c.event(j.row, EventNoop)
	e.Error = reason.Error()
	c.notify(e)
	j.asked.answer(e)
}

func (c *Compactor) recoverCallback(hook string) {
	if p := recover(); p != nil {
		c.o.Log.Error("callback_panicked", "callback", hook, "panic", p, "stack", string(debug.Stack()))
	}
}

// notify emits an event, and returns it.
func (c *Compactor) notify(e Event) Event {
	c.reports.note(e, c.h.next)
	if e.State == EventApplied {
		c.o.Log.Info("compaction_applied", "event", e)
	} else {
		c.o.Log.Debug("compaction", "event", e)
	}
	if e.State == EventApplied || e.State == EventFailed || e.State == EventNoop {
		for _, j := range c.running() {
			if e.ID != 0 && e.ID == j.requestedRow() {
				defer j.asked.answer(e)
			}
		}
	}
	c.after(e)
	return e
}

// reports keeps the last events, for Status, and the incidents that were logged and must not be
// logged again.
type reports struct {
	last      Event // the last event that ended something
	failed    Event // the last failure since a summary was applied
	appliedAt int64 // the next seq when messages were last summarized; 0: not yet

	byModel, byExtractive, byFallback llm.Incident // jobs of a model fail; jobs of the extractive summarizer fail; the fallback does the worker's jobs
	tooLarge                          llm.Incident // nothing more can be hidden
}

func (r *reports) note(e Event, next int64) {
	switch e.State {
	case EventStarted, EventPrepared, EventScheduled:
		return
	case EventFailed:
		r.failed = e
	case EventApplied:
		if e.Kind == Placeholder {
			break
		}
		r.failed = Event{}
		if e.Kind == Leaf && e.Trigger != OnRepair {
			r.appliedAt = next
		}
	}
	r.last = e
}
