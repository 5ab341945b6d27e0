// The events of a compaction, and of what a window holds.

package web

import (
	"time"

	"cairn/channel"
	"cairn/compactor"
)

// compactionEvent is one step of a compaction; kept without the text of its summary: events outlive what they tell of.
type compactionEvent struct {
	Conversation string `json:"conversation"`
	channel.Event
	With []appliedSpan `json:"with,omitempty" jsonschema:"the summaries applied or undone in one step, this one among them"`
	Time time.Time     `json:"time"`
}

type appliedSpan struct {
	ID   int64          `json:"id"`
	Kind compactor.Kind `json:"kind"`
	From int64          `json:"from_seq"`
	To   int64          `json:"to_seq"`
}

// Compaction publishes a step of a compaction, and how full the window is if that changed it.
func (e *Events) Compaction(conversation string, c channel.Event) {
	with := each(c.Set, func(s compactor.Summary) appliedSpan { return appliedSpan{s.ID, s.Kind, s.From, s.To} })
	e.publish("compaction", conversation, compactionEvent{conversation, c, with, time.Now().UTC()})
	if c.State == compactor.EventApplied || c.State == compactor.EventUndone || c.State == compactor.EventRewritten {
		e.publishUsage(conversation, c.AfterTokens, c.Window)
	}
}

// event returns the event as it was in the process of the bot, as far as terminals need it.
func (e compactionEvent) event() channel.Event {
	for _, s := range e.With {
		e.Set = append(e.Set, compactor.Summary{ID: s.ID, Kind: s.Kind, Span: compactor.Span{From: s.From, To: s.To}})
	}
	return e.Event
}

type usageEvent struct {
	Conversation string    `json:"conversation"`
	Used         int       `json:"used_tokens" jsonschema:"of the next request, the reply's reserve included"`
	Max          int       `json:"max_tokens"`
	Time         time.Time `json:"time"`
}

// publishUsage publishes how full a window is; a window of 0 is unknown.
func (e *Events) publishUsage(conversation string, used, window int) {
	if window > 0 {
		e.publish("usage", conversation, usageEvent{conversation, used, window, time.Now().UTC()})
	}
}
