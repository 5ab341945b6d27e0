package compactor

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"
)

// Compactions that people and the model request.

// Reasons why there is nothing to compact, in words for people.
const (
	reasonShort   = "there is nothing old enough to summarize; the newest messages always stay verbatim"
	reasonLittle  = "the older messages are too short; a summary would not be shorter"
	reasonRunning = "a compaction is already running"
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

// Requested is a requested compaction. Neither of its functions may block.
type Requested struct {
	Trigger Trigger
	Focus   string // what the summary should keep
	With    Patch  // over the policy, for this compaction alone; values that make it invalid are left out

	// Began is called once, with an event that says that the compaction started or is scheduled, or
	// why there is nothing to do: immediately, or after Before has returned, for which a turn
	// (OnSelf) does not wait. May be nil.
	Began func(Event)
	// Ended is called once for a compaction that started or was scheduled, with its outcome: applied,
	// failed, a noop with the reason, or prepared if it has to wait for room. May be nil.
	Ended func(Event)
}

// over returns the policy of the request over p. A request that sets only one of keep_last_n and
// keep_last_turns disables the other.
func (w Requested) over(p Policy) Policy {
	p, _ = w.With.Fit(p)
	_, messages := w.With["keep_last_n"]
	_, turns := w.With["keep_last_turns"]
	switch {
	case messages && !turns:
		p.KeepLastTurns = 0
	case turns && !messages:
		p.KeepLastN = 0
	}
	return p
}

// Compact summarizes everything older than the newest messages on request. While another job runs,
// one request of people (OnManual) is queued, unless that job leaves nothing to do: it starts when the
// job ends, and is lost if the process ends first.
func (c *Compactor) Compact(w Requested) {
	if w.Trigger == OnManual {
		c.forgetDeclined()
		c.undoLifted = true // even if there is nothing to do, or not now
	}
	if c.busy == nil {
		c.startRequest(w)
		return
	}
	if w.Trigger != OnManual || c.queued != nil || c.requestPlanner(w).coversAll(w.Trigger, c.busy.row) {
		w.answer(c.refuse(w, reasonRunning))
		return
	}
	c.queued = &w
	w.began(c.notify(Event{State: EventScheduled, Trigger: w.Trigger, Kind: Leaf, Window: c.o.Window()}))
}

// began calls Began, unless it was called before.
func (w *Requested) began(e Event) {
	if w.Began != nil {
		w.answer(e)
	}
}

// answer calls Began, or Ended if Began was called before, each once.
func (w *Requested) answer(e Event) {
	notify := w.Began
	w.Began = nil
	if notify == nil {
		notify = w.Ended
		w.Ended = nil
	}
	if notify != nil {
		notify(e)
	}
}

// requestPlanner returns a planner under the policy of a request.
func (c *Compactor) requestPlanner(w Requested) *planner {
	return c.planner(w.over(c.o.Policy()).At(c.o.Window()))
}

func (c *Compactor) startRequest(w Requested) {
	if c.ctx.Err() != nil {
		w.answer(c.refuse(w, reasonEnd))
		return
	}
	j, reason := c.requestPlanner(w).planRequest(w)
	if j != nil {
		c.startJob(j)
		return
	}
	w.answer(c.refuse(w, reason))
}

// refuse reports why nothing was planned. If prepared summaries are waiting, it applies them and
// returns their event instead.
func (c *Compactor) refuse(w Requested, reason string) Event {
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

	// Stopped says that a failed one was stopped from outside, as by the end of the program, and is made later.
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

// Callbacks: Before may veto a job, After receives the result.

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

// vetoed reports a veto. Except for OnManual it pauses the trigger for the cooldown.
func (c *Compactor) vetoed(j *job, reason error) {
	if j.row.Trigger != OnManual { // people may ask again
		until := c.o.Now().Add(max(time.Duration(j.policy.Cooldown), minVeto))
		c.retries.vetoes = maps.Clone(c.retries.vetoes) // readers of a Status have the old map
		c.retries.vetoes[j.row.Trigger] = veto{reason.Error(), until}
	}
	e := c.reports.event(j.row, EventNoop)
	e.Error = reason.Error()
	c.notify(e)
	j.asked.answer(e)
}

// notify emits an event, and returns it.
func (c *Compactor) notify(e Event) Event {
	c.reports.write(e, c.view.Next)
	if e.State == EventApplied || e.State == EventFailed || e.State == EventNoop {
		for _, j := range c.running() {
			if e.ID != 0 && e.ID == j.requestedRow() {
				defer j.asked.answer(e)
			}
		}
	}
	c.reports.after(e)
	return e
}
