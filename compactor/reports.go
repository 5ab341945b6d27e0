package compactor

import "cairn/llm"

// reports keeps the last events, for Status, and the failures that the log has and must not repeat.
type reports struct {
	last      Event // that something ended with
	failed    Event // the last failure since a summary was applied
	appliedAt int64 // the seq that was next when messages were last summarized; 0: not yet

	byModel, byExtractive, byFallback llm.Incident // jobs of a model fail; of the extractive summarizer; the fallback does the worker's work
	tooLarge                          llm.Incident // nothing can be hidden any more
}

// note notes an event; next is the seq of the next message.
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
