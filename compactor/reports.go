package compactor

import "cairn/llm"

// reports keeps the last events, for Status, and the incidents that were logged and must not be
// logged again.
type reports struct {
	last      Event // the last event that ended something
	failed    Event // the last failure since a summary was applied
	appliedAt int64 // the next seq when messages were last summarized; 0: not yet

	byModel, byExtractive, byFallback llm.Incident // jobs of a model fail; jobs of the extractive summarizer fail; the fallback does the worker's jobs
	tooLarge                          llm.Incident // nothing more can be hidden
}

// note records an event; next is the seq of the next message.
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
