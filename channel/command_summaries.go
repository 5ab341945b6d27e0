package channel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/store"
)

func runSummaries(ctx context.Context, c *conversation, _ Person, _ string) (Answer, error) {
	g := (*c.engineStatus.Load())()
	var answer Answer
	for _, session := range g.Past.Earlier {
		for _, row := range session.Rows {
			answer.Items = append(answer.Items, c.summaryLine(row)+c.sayf(" (from before a /new)"))
		}
	}
	for _, row := range g.Stack {
		answer.Items = append(answer.Items, c.summaryLine(row))
	}
	switch {
	case len(answer.Items) == 0:
		answer.Text = "Nothing has been summarized here: I see every message word for word."
	case len(g.Stack) == 0:
		answer.Text = c.sayf("Nothing has been summarized since the last /new. From before, oldest first:")
	default:
		answer.Text = fmt.Sprintf("%d on the stack, oldest first:", len(g.Stack))
	}
	return answer, nil
}

// summaryLine describes a compaction in one line for people, and how to see what is behind it.
func (c *conversation) summaryLine(row compactor.Compaction) string {
	return summaryWords(row) + c.sayf(": /expand %d", row.ID)
}

// summaryWords describes a compaction, numbered like a memory.
func summaryWords(row compactor.Compaction) string {
	by := madeBy(row.By)
	if row.Model != "" {
		by += " (" + row.Model + ")"
	}
	return fmt.Sprintf("(%d) %s, level %d: #%d to #%d, %s, %s in %d tokens, %s", row.ID, row.Kind, row.Level, row.From, row.To,
		days(row.FromTime, row.ToTime), chat.Counted(row.Messages, "message", "messages"), row.Tokens, by)
}

// madeBy describes who wrote a summary; no one has written what a placeholder stands for.
func madeBy(by compactor.By) string {
	if by == compactor.ByEmergency {
		return "to be summarized"
	}
	return "by " + string(by)
}

// days formats a range of days, or a single day.
func days(from, to time.Time) string {
	first, last := from.Local().Format(time.DateOnly), to.Local().Format(time.DateOnly)
	if first == last {
		return first
	}
	return first + " to " + last
}

// expandShown is the most messages that /expand shows.
const expandShown = 200

func runExpand(ctx context.Context, c *conversation, _ Person, args string) (Answer, error) {
	number, begin, _ := strings.Cut(args, " ")
	id, ok := numberOf(number)
	from := int64(1)
	if ok && begin != "" {
		from, ok = numberOf(strings.TrimSpace(begin))
	}
	if !ok {
		return Answer{}, errPeople(c.sayf("Say which summary by its number, as /summaries shows it: /expand 12"))
	}
	e, err := c.records.Transcript().Expand(ctx, id, from, expandShown)
	if errors.Is(err, store.ErrNotFound) {
		return Answer{}, errPeople(c.sayf("There is no summary %d in this conversation; /summaries lists them.", id))
	}
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Text: summaryWords(e.Row)}
	for _, child := range e.Children {
		answer.Items = append(answer.Items, c.summaryLine(child))
	}
	for _, m := range e.Messages {
		answer.Items = append(answer.Items, chat.RecordOf(m).String())
	}
	if e.Next != 0 {
		answer.Items = append(answer.Items, c.sayf("There is more: /expand %d %d", id, e.Next))
	}
	return answer, nil
}

func runContext(ctx context.Context, c *conversation, _ Person, _ string) (Answer, error) {
	now, err := c.hub.Operator().Context(ctx, c.name)
	if err != nil {
		return Answer{}, err
	}
	if now.Usage, err = c.hub.Operator().Spending(ctx, c.name); err != nil {
		return Answer{}, err
	}
	return Answer{Text: c.spell(now.String()), Aligned: true}, nil
}
