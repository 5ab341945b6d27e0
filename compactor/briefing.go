package compactor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/secrets"
	"cairn/internal/tokens"
)

// What another agent is given of a conversation, to answer one question in it.

// Shares of a briefing.
const (
	headShare     = 3 // the head: at most 1/3
	questionShare = 4 // the question: at most 1/4
	summedShare   = 4 // summary of the messages: at most 1/4 of what is left
)

// Briefing returns a function that renders the view in about tokens tokens: the head, then the
// messages as far as they fit; older ones are summarized without a model. The question comes last
// and is not repeated among the messages. Nothing is written. The function may run in any
// goroutine.
func (c *Compactor) Briefing(ctx context.Context, tokens int, p Policy, question chat.Message) (func() string, error) {
	if c.reread(ctx); c.h.outdated {
		return nil, errOutdated
	}
	s := c.h.view
	return func() string { return s.briefing(tokens, p, question) }, nil
}

func (s view) briefing(cost int, p Policy, question chat.Message) string {
	asked := summarize.ClippedItems([]chat.Message{question}, max(cost/questionShare, 0))
	left := cost - summarize.CostOfItems(asked)
	var b strings.Builder
	if s.headText != "" {
		text, mark, end := tokens.Parts(secrets.Mask(s.headText), max(min(left, cost/headShare), 0))
		if mark != "" { // the end continues with a whole line: the rest of one may read as a line that nobody wrote
			_, end, _ = strings.Cut(end, "\n")
			text += mark + end
		}
		left -= tokens.Estimate(text)
		b.WriteString(text + "\n\n")
	}
	var said []chat.Message
	for _, l := range s.lines {
		if l.Seq != question.Seq {
			said = append(said, *l.Message)
		}
	}
	items := summarize.ClippedItems(said, summarize.MostOfMessage)
	if summarize.CostOfItems(items) > left {
		summed := min(p.MaxSummary, left/summedShare)
		n := 0
		for room := left - summed; n < len(items) && room >= items[len(items)-1-n].Tokens; n++ {
			room -= items[len(items)-1-n].Tokens
		}
		items = items[len(items)-n:]
		older := said
		if n > 0 {
			older = said[:slices.IndexFunc(said, func(m chat.Message) bool { return m.Seq == items[0].From })]
		}
		if text := summarize.Extract(withoutSecrets(older), summed, 0, question.Text).Text; text != "" {
			fmt.Fprintf(&b, "<summary from=\"%d\" to=\"%d\">%s</summary>\n\n", older[0].Seq, older[len(older)-1].Seq, summarize.Content(secrets.Mask(text), summed))
		}
	}
	if len(items) > 0 {
		b.WriteString(summarize.PlainText(items) + "\n\n")
	}
	b.WriteString("<question>\n")
	for _, it := range asked {
		b.WriteString(it.Text)
	}
	b.WriteString("\n</question>")
	return b.String()
}
