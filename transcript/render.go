package transcript

import (
	"fmt"
	"regexp"

	"cairn/chat"
	"cairn/internal/tokens"
)

// Render returns the summary as the prompt shows it.
func (sum Summary) Render() string {
	if sum.Kind == Placeholder {
		return fmt.Sprintf("[System: %d older messages were truncated due to context limits]", sum.Messages)
	}
	return fmt.Sprintf("%s messages #%d to #%d, %s\n%s", chat.SummaryMark, sum.From, sum.To, sum.Days(), chat.Escape(sum.Text))
}

// Cost returns the tokens of the summary in the prompt.
func (sum Summary) Cost() int { return tokens.PerMessage + tokens.Estimate(sum.Render()) }

// RenderInherited returns a copy of the summary as the prompt of a thread shows it.
func (sum Summary) RenderInherited() string {
	if sum.Kind == Placeholder {
		return fmt.Sprintf("[System: %d older messages of the channel above this thread were truncated]", sum.Messages)
	}
	text := Citations.ReplaceAllString(sum.Text, "") // the numbers are the channel's: here they would mean other messages
	return fmt.Sprintf("%s of the channel above this thread, %s\n%s", chat.SummaryMark, sum.Days(), chat.Escape(text))
}

// InheritedCost returns the tokens of a copy of the summary in the prompt of a thread.
func (sum Summary) InheritedCost() int {
	return tokens.PerMessage + tokens.Estimate(sum.RenderInherited())
}

// Days returns the days that the summary spans, in words.
func (sum Summary) Days() string {
	from, to := sum.FromTime.Format(chat.DateFormat), sum.ToTime.Format(chat.DateFormat)
	if from == to {
		return from
	}
	return from + " to " + to
}

// Citations are the numbers of the messages that a line of a summary comes from, as models write
// them: (#12), (#12, #15), [#12–#15], （#12、#15）.
var Citations = regexp.MustCompile(` ?[(（[]#[0-9]+(?:[,、， ]+#[0-9]+|[–-]#?[0-9]+)*[])）]`)
