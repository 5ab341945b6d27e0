package compactor

import (
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"time"
)

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

// Hooks: who may forbid a piece of work before it begins, and who is told afterwards.

// Proposal is a piece of work that is about to begin.
type Proposal struct {
	Event         // EventStarted, with ID 0; BeforeTokens is what is used now
	Tokens int    // estimated, of what is to be replaced; 0: it has to be read first, as for a repair
	Focus  string // what the summary shall keep, by the policy or by who asks for it; "": nothing special
}

// veto is what Before said about the jobs of one trigger.
type veto struct {
	reason string
	until  time.Time
}

func (v veto) of(t Trigger) string { return fmt.Sprintf("%s was forbidden: %s", t, v.reason) }

// minVeto is how long a veto holds at least: a hook is not asked at each message.
const minVeto = time.Minute

// propose returns a function that has Before decide about what is going to begin.
func (c *Compactor) propose(w *work) func() (focus string, veto error) {
	p := Proposal{Event: w.event(EventStarted), Tokens: w.tokens, Focus: w.row.Focus}
	p.BeforeTokens = c.used(c.h.view)
	return func() (focus string, veto error) {
		defer c.contain("before") // one that panics has forbidden nothing
		return c.o.Before(w.ctx, p)
	}
}

// forbidden tells of a veto, which holds for a while.
func (c *Compactor) forbidden(j *job, reason error) {
	if j.row.Trigger != OnManual { // people may ask again
		rest := max(time.Duration(j.policy.Cooldown), minVeto)
		c.vetoes[j.row.Trigger] = veto{reason: reason.Error(), until: c.o.Now().Add(rest)}
	}
	e := j.event(EventNoop)
	e.Error = reason.Error()
	c.notify(e)
	if j.began != nil {
		j.began(e)
	} else {
		c.overJob(j, e)
	}
}

// rests reports whether jobs of a trigger wait because of a veto.
func (c *Compactor) rests(t Trigger, now time.Time) bool {
	return now.Before(c.vetoes[t].until)
}

// vetoed says what waits because of a veto; "" if nothing does.
func vetoed(vetoes map[Trigger]veto, now time.Time) string {
	for _, t := range slices.Sorted(maps.Keys(vetoes)) {
		if now.Before(vetoes[t].until) {
			return vetoes[t].of(t)
		}
	}
	return ""
}

// contain keeps a panic of a callback from anything but itself.
func (c *Compactor) contain(hook string) {
	if p := recover(); p != nil {
		c.o.Log.Error("callback_panicked", "callback", hook, "panic", p, "stack", string(debug.Stack()))
	}
}
