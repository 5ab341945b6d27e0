// Status lines about compactions and tasks.

package terminal

import (
	"fmt"

	"cairn/channel"
)

// spectator prints notes about background work that matter to people.
type spectator struct{ print func(text string) }

func (s spectator) Accepted(string, string, int64)               {}
func (s spectator) Compaction(_ string, event channel.Event)     { s.note(status(event)) }
func (s spectator) Remembered(string, int64, string, string)     {}
func (s spectator) Used(string, string, string, channel.Expense) {} // people use /usage
func (s spectator) Task(_ string, t channel.Task)                { s.note(taskStatus(t)) }

func (s spectator) note(text string) {
	if text != "" {
		s.print(text)
	}
}

// status returns a line about event, or "" if it should not be shown: of a compaction that no
// person requested only the start and the end are.
func status(event channel.Event) string {
	span := fmt.Sprintf("messages %d to %d", event.From, event.To)
	switch event.State {
	case "started":
		return "· compacting " + span
	case "applied":
		if event.AfterTokens >= event.BeforeTokens { // it says more than the placeholder that it replaces
			return "· summarized " + span
		}
		return fmt.Sprintf("· compacted %s: %d → %d tokens of %d", span, event.BeforeTokens, event.AfterTokens, event.Window)
	case "failed": // the error text says that nothing was lost
		return "· could not compact " + span + ": " + event.Error
	case "undone":
		return "· undid the compaction of " + span
	}
	return ""
}

// taskStatus returns a line about the start or the end of a task; "" for steps in between.
func taskStatus(t channel.Task) string {
	switch {
	case !t.Ended.IsZero():
		return fmt.Sprintf("· task %d of %s: %s after %d messages", t.Number, t.Agent, t.State, t.Messages)
	case t.Messages == 0:
		return fmt.Sprintf("· task %d of %s has started; /tasks lists tasks", t.Number, t.Agent)
	}
	return ""
}
