// Package observe notifies an observer of the steps of a running bot: turns, requests to models,
// tools and compactions. The code that takes the steps knows nothing of metrics or traces, and
// without an observer a step costs nothing. An Incident has a series of failures logged once. The
// package imports nothing of Cairn.
package observe

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// Kind is the kind of a step.
type Kind string

// The kinds of steps, with their attributes.
const (
	Turn       Kind = "turn"       // turn (seq), agent, model; outcome, one of Outcomes; used_tokens, max_tokens: how full the window is after it; fallback: the model that answered in place of the agent's own
	Request    Kind = "request"    // to a model: model; input_tokens, cached_tokens, written_tokens, output_tokens
	Tool       Kind = "tool"       // tool; "unknown" for one that does not exist
	Compaction Kind = "compaction" // making one summary: id, trigger, kind, by, from_seq, to_seq
	Applied    Kind = "applied"    // carries an Event ContextCompaction and takes no time; used if no turn is running that could carry it
)

// Outcomes are the outcomes of a turn. Interrupted turns start again later.
var Outcomes = []string{Answered, Failed, Stopped, Passed, Interrupted}

const (
	Answered    = "answered"
	Failed      = "failed"      // people got an error message
	Stopped     = "stopped"     // by a person
	Passed      = "passed"      // without an answer: the bot is paused, or there was nothing to say
	Interrupted = "interrupted" // the bot is stopping, or the disk fails
)

// ContextCompaction is the event for applied summaries: trigger, before and after (tokens used of
// the window), id (of the first), summaries (their number).
const ContextCompaction = "context.compaction"

// Step is a running step. Its methods do nothing on nil, the step without an observer.
type Step struct {
	Kind         Kind
	Conversation string // "" outside a conversation
	Parent       *Step  // nil: none
	Began        time.Time

	// For the goroutine that takes the step, and for the observer at its end.
	Attrs []slog.Attr
	First time.Duration // from Began to the model's first text; 0: none
	Err   error         // nil: it succeeded

	ctx       context.Context
	observers []Observer
}

// Context returns the step's context: steps that start in it are parts of this one.
func (s *Step) Context() context.Context { return s.ctx }

// Observer is called by the goroutines that take the steps, so it must not block.
type Observer interface {
	// Begin is called at the start of a step. It returns ctx, or a context derived from it, for the
	// work of the step.
	Begin(ctx context.Context, s *Step) context.Context
	// Event is called for an event during a step. It may be called after End.
	Event(s *Step, name string, attrs []slog.Attr)
	// End is called at the end of a step.
	End(s *Step)
}

// scope is what observe stores in a context.
type scope struct {
	observers    []Observer
	conversation string
	step         *Step
}

type scopeKey struct{}

func scopeOf(ctx context.Context) scope {
	s, _ := ctx.Value(scopeKey{}).(scope)
	return s
}

// With returns a context whose steps are observed by observers, in this order; without any it returns ctx.
func With(ctx context.Context, observers ...Observer) context.Context {
	if len(observers) == 0 {
		return ctx
	}
	return context.WithValue(ctx, scopeKey{}, scope{observers: observers})
}

// In returns a context whose steps belong to a conversation.
func In(ctx context.Context, conversation string) context.Context {
	s := scopeOf(ctx)
	if s.observers == nil {
		return ctx
	}
	s.conversation = conversation
	return context.WithValue(ctx, scopeKey{}, s)
}

// Begin starts a step, which must be ended. The step is nil if ctx has no observer.
func Begin(ctx context.Context, kind Kind) (context.Context, *Step) {
	in := scopeOf(ctx)
	if in.observers == nil {
		return ctx, nil
	}
	s := &Step{Kind: kind, Conversation: in.conversation, Parent: in.step, Began: time.Now(), observers: in.observers}
	in.step = s
	s.ctx = context.WithValue(ctx, scopeKey{}, in)
	for _, o := range s.observers {
		s.ctx = o.Begin(s.ctx, s)
	}
	return s.ctx, s
}

// Add adds attributes.
func (s *Step) Add(attrs ...slog.Attr) {
	if s != nil {
		s.Attrs = append(s.Attrs, attrs...)
	}
}

// Text records that text of a model arrived, in this step and in those it is part of.
func (s *Step) Text() {
	for ; s != nil && s.First == 0; s = s.Parent {
		s.First = max(time.Since(s.Began), 1)
	}
}

// Fail records why the step fails.
func (s *Step) Fail(err error) {
	if s != nil {
		s.Err = err
	}
}

// Event reports an event. Unlike the other methods it may be called by any goroutine.
func (s *Step) Event(name string, attrs ...slog.Attr) {
	if s == nil {
		return
	}
	for _, o := range s.observers {
		o.Event(s, name, attrs)
	}
}

// End ends the step.
func (s *Step) End() {
	if s == nil {
		return
	}
	for _, o := range s.observers {
		o.End(s)
	}
}

// Attr returns the text of an attribute; "" if the step has none with that key.
func (s *Step) Attr(key string) string {
	i := slices.IndexFunc(s.Attrs, func(a slog.Attr) bool { return a.Key == key })
	if i < 0 {
		return ""
	}
	return s.Attrs[i].Value.String()
}

// Number returns an attribute that is a whole number; 0 if the step has none with that key.
func (s *Step) Number(key string) int64 {
	n, _ := strconv.ParseInt(s.Attr(key), 10, 64)
	return n
}

// Incident spans a series of failures, from the first one to the next success, so that the log contains one line for
// each end of it. The zero value has no incident. It is safe for concurrent use.
type Incident struct{ on atomic.Bool }

// Begin records a failure. It returns the level at which to log it: a warning the first time, then debug.
func (i *Incident) Begin() slog.Level {
	if i.on.Swap(true) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// End records a success and reports whether it ended an incident. The name of the event to log then ends in _recovered.
func (i *Incident) End() bool { return i.on.Swap(false) }

// On reports whether an incident has started and not ended.
func (i *Incident) On() bool { return i.on.Load() }
