package compactor

import (
	"fmt"
	"strings"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/tokens"
)

// The head: what stands above the verbatim messages.

// Render returns one compaction as it stands in the view.
func Render(c Compaction) string {
	if c.Kind == Placeholder {
		return fmt.Sprintf("[System: %d older messages were truncated due to context limits]", c.Messages)
	}
	return fmt.Sprintf("%s messages #%d to #%d, %s\n%s", chat.SummaryMark, c.From, c.To, summarize.Days(c), chat.Escape(c.Text))
}

// TokensOfCompaction returns what c costs in a view, in tokens.
func TokensOfCompaction(c Compaction) int { return tokens.PerMessage + tokens.Estimate(Render(c)) }

// headFrame is what the head costs around what stands in it, in tokens.
var headFrame = tokens.PerMessage + tokens.Estimate(headOpen) + tokens.Estimate(headClose)

// renderHead is the user-role block above the messages: copies of messages whose
// originals are out of sight, then what is shown of the past, then the stack, oldest
// first. It is empty when there is nothing to keep.
func renderHead(copies []duplicate, past past, stack []Compaction) (text string, tokens int) {
	var b strings.Builder
	add := func(entry string, cost int) {
		if b.Len() == 0 {
			b.WriteString(headOpen)
			tokens = headFrame
		}
		b.WriteString("\n\n")
		b.WriteString(entry)
		tokens += cost
	}
	for _, d := range copies {
		if d.earlier || covered(stack, d.Seq) {
			add(d.text, d.tokens)
		}
	}
	for _, e := range past.entries {
		add(e.text, e.tokens)
	}
	for _, c := range stack {
		add(Render(c), c.Tokens)
	}
	if b.Len() == 0 {
		return "", 0
	}
	b.WriteString("\n" + headClose)
	return b.String(), tokens
}

func covered(stack []Compaction, seq int64) bool {
	for _, c := range stack {
		if c.Covers(seq) {
			return true
		}
	}
	return false
}
