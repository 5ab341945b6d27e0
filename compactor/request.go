package compactor

import (
	"context"
	"errors"
	"log/slog"
)

// Compactions that people and the model request.

// Reasons why there is nothing to compact, in words for people.
const (
	reasonShort   = "there is nothing old enough to summarize; the newest messages always stay verbatim"
	reasonLittle  = "the older messages are too short; a summary would not be shorter"
	reasonRunning = "a compaction is already running"
	reasonUndone  = "it was canceled by /undo"
	reasonOlder   = "it is not the latest compaction that was applied"
	reasonEnd     = "the program is shutting down: ask again when it is back"
	reasonJust    = "the conversation was just compacted, and there is nothing new to summarize"
	reasonSelfOff = "compaction is switched off here; only people may request it"
	reasonCooling = "the last attempts freed nothing, so compaction pauses for a while"
	reasonOff     = "automatic compaction is switched off"
	reasonSpared  = "the last compaction was undone; its messages stay verbatim until the aggressive level is reached or someone uses /compact"
	reasonPaused  = "the last compactions freed too little, so automatic compaction pauses for a while"
	reasonBackoff = "the last attempt failed; the next one follows shortly"
	reasonStale   = "its messages have changed since, or another summary covers them"
)

// ErrSpent means that no model may be called for now, because it would cost too much, say.
var ErrSpent = errors.New("model calls are not allowed here for now")

// Requested is a requested compaction.
type Requested struct {
	Trigger Trigger
	Focus   string // what the summary should keep
	With    Patch  // over the policy, for this compaction alone; values that make it invalid are left out
}

// Progress is what has become of a requested compaction. The compactor changes it, so only the owner's goroutine reads it.
type Progress struct {
	// Began says that the compaction started or is scheduled, or why there is nothing to do. Its State is empty until Before
	// has returned, for which a turn (OnSelf) does not wait.
	Began Event
	// Ended is the outcome of a compaction that started or was scheduled: applied, failed, a noop with the reason, or prepared if
	// it has to wait for room. Its State is empty until then.
	Ended Event
}

// request is a request that waits or is planned.
type request struct {
	Requested
	progress *Progress
}

// over returns the policy of this moment, with the request's settings. A request that sets only one of keep_last_n and
// keep_last_turns disables the other.
func (w Requested) over(m meter) Policy {
	p, _ := w.With.Fit(m.o.Policy())
	_, messages := w.With["keep_last_n"]
	_, turns := w.With["keep_last_turns"]
	switch {
	case messages && !turns:
		p.KeepLastTurns = 0
	case turns && !messages:
		p.KeepLastN = 0
	}
	return p.At(m.o.Window())
}

// Compact summarizes everything older than the newest messages on request. While another job runs,
// one request of people (OnManual) is queued, unless that job leaves nothing to do: it starts when the
// job ends, and is lost if the process ends first.
func (c *Compactor) Compact(requested Requested) *Progress {
	w := request{requested, new(Progress)}
	if w.Trigger == OnManual {
		c.forgetDeclined()
		c.undoLifted = true // even if there is nothing to do, or not now
	}
	switch {
	case c.busy == nil:
		c.startRequest(w)
	case w.Trigger != OnManual || c.queued != nil || c.busy.stopped != byUndo && c.planner(w.over(c.meter)).coversAll(w.Trigger, c.busy.row):
		w.progress.answer(c.refuse(w, reasonRunning))
	default:
		c.queued = &w
		w.progress.began(c.notify(Event{State: EventScheduled, Trigger: w.Trigger, Kind: Leaf, Window: c.o.Window()}))
	}
	return w.progress
}

// began sets Began, unless it is set.
func (p *Progress) began(e Event) {
	if p != nil && p.Began.State == "" {
		p.Began = e
	}
}

// answer sets Began, or Ended if Began says that there is an end to wait for, each once.
func (p *Progress) answer(e Event) {
	if p == nil {
		return
	}
	waits := p.Began.State == EventStarted || p.Began.State == EventScheduled
	switch {
	case p.Began.State == "":
		p.Began = e
	case waits && p.Ended.State == "":
		p.Ended = e
	}
}

func (c *Compactor) startRequest(w request) {
	if c.ctx.Err() != nil {
		w.progress.answer(c.refuse(w, reasonEnd))
		return
	}
	j, reason := c.planner(w.over(c.meter)).planRequest(w.Requested)
	if j == nil {
		w.progress.answer(c.refuse(w, reason))
		return
	}
	j.progress = w.progress
	c.start(j)
}

// refuse reports why nothing was planned. If prepared summaries are waiting, it applies them and
// returns their event instead.
func (c *Compactor) refuse(w request, reason string) Event {
	little := reason == reasonShort || reason == reasonLittle || reason == reasonJust
	if little && c.apply(c.ctx, demand{share: 1}) {
		return c.reports.last
	}
	return c.notify(Event{State: EventNoop, Trigger: w.Trigger, Kind: Leaf, Window: c.o.Window(), Error: reason})
}

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
	EventRewritten EventState = "rewritten" // a person rewrote a line of a summary
)

// EventStates lists all states.
var EventStates = []EventState{EventScheduled, EventStarted, EventPrepared, EventApplied, EventFailed, EventNoop, EventUndone, EventRewritten}

// Triggers lists all triggers of events.
var Triggers = []Trigger{OnBackground, OnAggressive, OnEmergency, OnManual, OnSelf, OnReactive, OnRepair, OnRollup, OnPrepare, OnNew, OnRewrite}

// Event is one step of a compaction. The same value goes to the log, hooks, connectors, --json
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

	// Stopped says that a failed one was stopped from outside, as by the end of the program, and is tried again later; that an
	// undone one was canceled before it was applied.
	Stopped bool `json:"-"`

	// Set contains the rows applied or undone in one step, this one among them, by From.
	Set []Summary `json:"-"`
}

func (e Event) attrs() []slog.Attr {
	return Summary{ID: e.ID, Trigger: e.Trigger, Kind: e.Kind, By: e.By, Span: Span{From: e.From, To: e.To}}.LogAttrs()
}

// LogValue returns the event without the summary: people's words do not belong in the log.
func (e Event) LogValue() slog.Value {
	return slog.GroupValue(append(e.attrs(), slog.String("state", string(e.State)),
		slog.Int("messages", e.Messages), slog.Int("before_tokens", e.BeforeTokens), slog.Int("after_tokens", e.AfterTokens),
		slog.Int("window", e.Window), slog.String("error", e.Error))...)
}

// Proposal is a job that is about to start.
type Proposal struct {
	Event         // EventStarted, with ID 0; BeforeTokens is what is used now
	Tokens int    // estimated tokens of the span; 0: unknown before it is read, as for a repair
	Focus  string // what the summary should keep, by policy or request; "": nothing special
}

// before calls Options.Before for a job that is about to start.
func (o Options) before(ctx context.Context, p Proposal) (focus string, veto error) {
	defer recoverCallback(o.Log, "before") // a panic vetoes nothing
	return o.Before(ctx, p)
}

// notify emits an event, and returns it.
func (c *Compactor) notify(e Event) Event {
	c.reports.write(e, c.view.Next)
	if e.State == EventApplied || e.State == EventFailed || e.State == EventNoop {
		for _, j := range c.running() {
			if first := j.origin(); e.ID != 0 && e.ID == first.row.ID {
				first.progress.answer(e)
			}
		}
	}
	return e
}
