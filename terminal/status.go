// The words of the status line about a compaction.
package terminal

import (
	"fmt"

	"cairn/channel"
)

// spectator observes what runs beside the conversation, and notes what people want to know of it.
type spectator struct{ tell func(text string) }

// Accepted is of no interest to people.
func (s spectator) Accepted(string, string, int64) {}

// Compaction notes its steps.
func (s spectator) Compaction(_ string, event channel.Event) { s.note(status(event)) }

// Remembered is of no interest either.
func (s spectator) Remembered(string, int64, string, string) {}

// Task notes that a task begins or ends.
func (s spectator) Task(_ string, t channel.Task) { s.note(taskStatus(t)) }

func (s spectator) note(text string) {
	if text != "" {
		s.tell(text)
	}
}

// status returns one line about event, or "" where silence is better: a compaction that
// a person did not ask for shows when it starts and when it is over.
func status(event channel.Event) string {
	span := fmt.Sprintf("messages %d to %d", event.From, event.To)
	switch event.State {
	case "started":
		switch event.Trigger {
		case "rollup":
			return "· folding the summaries of " + span
		case "repair":
			return "· summarizing again " + span
		}
		return "· summarizing " + span
	case "applied":
		verb := "summarized"
		switch event.Kind {
		case "placeholder":
			verb = "hid, to be summarized later,"
		case "rollup":
			verb = "folded the summaries of"
		}
		return fmt.Sprintf("· %s %s: %d → %d tokens of %d", verb, span, event.BeforeTokens, event.AfterTokens, event.Window)
	case "failed": // the reason ends with the comfort that nothing was lost
		return "· could not summarize " + span + ": " + event.Error
	case "undone":
		return "· took back the summary of " + span
	}
	return ""
}

// taskStatus is a line about a task that begins or ends; "" for what is between.
func taskStatus(t channel.Task) string {
	switch {
	case !t.Ended.IsZero():
		return fmt.Sprintf("· task %d of %s: %s after %d messages", t.Number, t.Agent, t.State, t.Messages)
	case t.Messages == 0:
		return fmt.Sprintf("· task %d of %s has started; /tasks lists tasks", t.Number, t.Agent)
	}
	return ""
}
