package compactor

import (
	"errors"
	"log/slog"
	"runtime/debug"

	"cairn/internal/observe"
	"cairn/llm"
)

// reports tells owner and operator what happens: events, and log lines. It keeps the last events, for Status, and the
// incidents that were logged and must not be logged again.
type reports struct {
	o      *Options
	events []Event // since the last call of Events

	last      Event // the last event that ended something
	failed    Event // the last failure since a summary was applied
	appliedAt int64 // the next seq when messages were last summarized; 0: not yet

	byModel, byExtractive observe.Incident // jobs of a model fail; jobs of the extractive summarizer fail
	tooLarge              observe.Incident // nothing more can be hidden
	paused                observe.Incident // compactions free too little
}

// event returns an event about a row.
func (r *reports) event(row Summary, state EventState) Event {
	return Event{
		ID: row.ID, State: state, Trigger: row.Trigger, Kind: row.Kind, By: row.By,
		From: row.From, To: row.To, Messages: row.Messages, Window: r.o.Window(), Summary: row.Marked(), Error: row.Error,
	}
}

// write notes an event, for the owner too, and logs it; next is the seq of the next message.
func (r *reports) write(e Event, next int64) {
	r.note(e, next)
	r.events = append(r.events, e)
	if e.State == EventApplied {
		r.o.Log.Info("compaction_applied", "event", e)
	} else {
		r.o.Log.Debug("compaction", "event", e)
	}
}

// Events returns what has happened since the last call, oldest first.
func (r *reports) Events() []Event {
	events := r.events
	r.events = nil
	return events
}

// recoverCallback logs a panic in a callback.
func recoverCallback(log *slog.Logger, callback string) {
	if p := recover(); p != nil {
		log.Error("callback_panicked", "callback", callback, "panic", p, "stack", string(debug.Stack()))
	}
}

// levelFor returns the level at which to log a failure of a model's or the extractive
// summarizer's job. A spent budget is reported where it is spent; a server that is down is one
// incident for turns and summaries of all conversations.
func (r *reports) levelFor(err error, ofModel bool) slog.Level {
	switch {
	case !ofModel:
		return r.byExtractive.Begin()
	case errors.Is(err, ErrSpent):
		return slog.LevelDebug
	case llm.OfServer(err):
		return llm.LearnedOf(r.o.Worker, nil).Down.Begin()
	}
	return r.byModel.Begin()
}

// worked ends the incident that a successful job resolves.
func (r *reports) worked(j *job) {
	incident := &r.byModel
	if j.extractive() {
		incident = &r.byExtractive
	}
	ended := incident.End()
	if !j.extractive() {
		ended = llm.LearnedOf(r.o.Worker, nil).Down.End() || ended
	}
	if ended {
		r.o.Log.Info("compactions_recovered", "by", j.row.By)
	}
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
