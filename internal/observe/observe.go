// Package observe tells an observer about the steps of a running bot: turns, requests to
// models, tools and compactions. Those who take the steps know nothing of metrics or traces,
// and without an observer a step costs nothing. It imports nothing of Cairn.
package observe

import (
	"context"
	"log/slog"
	"time"
)

// Kind is what a step does.
type Kind string

// The kinds of steps, and the attributes that each has.
const (
	Turn       Kind = "turn"       // turn (seq), agent, model; outcome, one of Outcomes
	Request    Kind = "request"    // to a model: model; input_tokens, cached_tokens, written_tokens, output_tokens
	Tool       Kind = "tool"       // tool; "unknown" for one that does not exist
	Compaction Kind = "compaction" // the making of one summary: id, trigger, kind, by, from_seq, to_seq
	Applied    Kind = "applied"    // has an Event ContextCompaction and takes no time; only where no turn runs that gets it
)

// Outcomes are how a turn ends: Interrupted ones begin again later.
var Outcomes = []string{Answered, Failed, Stopped, Passed, Interrupted}

const (
	Answered    = "answered"
	Failed      = "failed"      // people got a sentence that says why
	Stopped     = "stopped"     // by a person
	Passed      = "passed"      // nobody gets an answer: the bot is paused, or nothing was to be said
	Interrupted = "interrupted" // the bot stops, or the disk refuses
)

// ContextCompaction is the event of summaries that were applied: trigger, before and after
// (tokens used of the window), id (of the first), summaries (how many).
const ContextCompaction = "context.compaction"

// Step is one step while it runs. The nil step, which nobody observes, does nothing.
type Step struct {
	Kind         Kind
	Conversation string // "" outside of any
	Parent       *Step  // nil: none
	Began        time.Time

	// For the goroutine that takes the step; and at its end, for the observer.
	Attrs []slog.Attr
	First time.Duration // from Began to the first text of a model; 0: none came
	Err   error         // nil: it succeeded

	ctx      context.Context
	observer Observer
}

// Context is the step's own: steps that begin in it are parts of this one.
func (s *Step) Context() context.Context { return s.ctx }

// Observer is told about steps by the goroutines that take them: it must not block.
type Observer interface {
	// Begin returns ctx, or one made of it, for the work of the step.
	Begin(ctx context.Context, s *Step) context.Context
	// Event tells that something happened during a step. It may come after the step's end.
	Event(s *Step, name string, attrs []slog.Attr)
	// End tells that a step ended.
	End(s *Step)
}

// scope is what a context knows.
type scope struct {
	observer     Observer
	conversation string
	step         *Step
}

type scopeKey struct{}

func scopeOf(ctx context.Context) scope {
	s, _ := ctx.Value(scopeKey{}).(scope)
	return s
}

// With returns a context whose steps o is told about; nil: nobody is.
func With(ctx context.Context, o Observer) context.Context {
	if o == nil {
		return ctx
	}
	return context.WithValue(ctx, scopeKey{}, scope{observer: o})
}

// In returns a context whose steps belong to a conversation.
func In(ctx context.Context, conversation string) context.Context {
	s := scopeOf(ctx)
	if s.observer == nil {
		return ctx
	}
	s.conversation = conversation
	return context.WithValue(ctx, scopeKey{}, s)
}

// Begin begins a step, which must be ended. The step is nil if nobody observes ctx.
func Begin(ctx context.Context, kind Kind) (context.Context, *Step) {
	in := scopeOf(ctx)
	if in.observer == nil {
		return ctx, nil
	}
	s := &Step{Kind: kind, Conversation: in.conversation, Parent: in.step, Began: time.Now(), observer: in.observer}
	in.step = s
	s.ctx = in.observer.Begin(context.WithValue(ctx, scopeKey{}, in), s)
	return s.ctx, s
}

// Add adds attributes.
func (s *Step) Add(attrs ...slog.Attr) {
	if s != nil {
		s.Attrs = append(s.Attrs, attrs...)
	}
}

// Text notes that text of a model arrived, here and in the steps that this one is part of.
func (s *Step) Text() {
	for ; s != nil && s.First == 0; s = s.Parent {
		s.First = max(time.Since(s.Began), 1)
	}
}

// Fail notes why the step fails.
func (s *Step) Fail(err error) {
	if s != nil {
		s.Err = err
	}
}

// Event tells that something happened. Unlike the other methods any goroutine may call it.
func (s *Step) Event(name string, attrs ...slog.Attr) {
	if s != nil {
		s.observer.Event(s, name, attrs)
	}
}

// End ends the step.
func (s *Step) End() {
	if s != nil {
		s.observer.End(s)
	}
}

// Attr is the text of an attribute; "" if the step has none of that key.
func (s *Step) Attr(key string) string {
	for _, a := range s.Attrs {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// All is an observer that tells several.
type All []Observer

var _ Observer = All(nil)

// Begin has each make a context of the one before.
func (all All) Begin(ctx context.Context, s *Step) context.Context {
	for _, o := range all {
		ctx = o.Begin(ctx, s)
	}
	return ctx
}

// Event tells each.
func (all All) Event(s *Step, name string, attrs []slog.Attr) {
	for _, o := range all {
		o.Event(s, name, attrs)
	}
}

// End tells each.
func (all All) End(s *Step) {
	for _, o := range all {
		o.End(s)
	}
}
