package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/store"
)

// Commands that show the window and what is behind its summaries: /context, /summaries, /expand.

func runContext(ctx context.Context, c *Call) (Answer, error) {
	unspelled := sentences.In(c.Speaker.Language) // the whole text is spelled at once
	now, err := c.Conversation.Context(ctx, unspelled)
	return Answer{Text: c.Speaker.Spell(now.Text(unspelled)), Aligned: true}, err
}

func runSummaries(ctx context.Context, c *Call) (Answer, error) {
	if c.Args != "" {
		return runLines(ctx, c)
	}
	g := c.Conversation.Status()
	answer := Answer{Text: fmt.Sprintf("%d on the stack, oldest first:", len(g.Stack))}
	for _, session := range g.Past.Earlier {
		for _, row := range session.Rows {
			answer.Items = append(answer.Items, summaryLine(c.Speaker, row)+c.Speaker.Sayf(" (from before a /new)"))
			answer.Lines = append(answer.Lines, linesOf(row))
		}
	}
	for _, row := range g.Stack {
		answer.Items = append(answer.Items, summaryLine(c.Speaker, row))
		answer.Lines = append(answer.Lines, linesOf(row))
	}
	if len(answer.Items) == 0 {
		answer.Text = "Nothing has been summarized here: I see every message verbatim."
	} else if len(g.Stack) == 0 {
		answer.Text = c.Speaker.Sayf("Nothing has been summarized since the last /new. From before, oldest first:")
	}
	return answer, nil
}

// linesOf is the command that shows the lines of a summary.
func linesOf(row compactor.Summary) string { return fmt.Sprintf("/summaries %d", row.ID) }

// summaryLine describes a summary in one line for people, and how to see what is behind it.
func summaryLine(speaker sentences.Speaker, row compactor.Summary) string {
	text := summaryWords(speaker, row)
	lines := report.LinesOf(row)
	if slices.ContainsFunc(lines, func(l report.SummaryLine) bool { return l.Evidence != nil && l.By == "" }) {
		text += speaker.Sayf("; %d lines, %d without evidence, %d dropped", len(lines), row.Unsupported(), row.Dropped)
	}
	return text + speaker.Sayf(": /expand %d", row.ID)
}

// summaryWords describes a summary, numbered like a memory.
func summaryWords(speaker sentences.Speaker, row compactor.Summary) string {
	by := report.MadeBy(row.By, speaker)
	if row.Model != "" {
		by += " (" + row.Model + ")"
	}
	return speaker.Sayf("(%d) %s, level %d: #%d to #%d, %s, %s in %d tokens, %s", row.ID, speaker.Word("kind", string(row.Kind)), row.Level, row.From, row.To,
		report.Days(row.FromTime, row.ToTime, speaker), messages(speaker, row.Messages), row.Tokens, by)
}

// expandShown is the most messages that /expand shows.
const expandShown = 200

func runExpand(ctx context.Context, c *Call) (Answer, error) {
	number, begin, _ := strings.Cut(c.Args, " ")
	id, ok := numberOf(number)
	from, also := numberOf(cmp.Or(strings.TrimSpace(begin), "1"))
	if !ok || !also {
		return Answer{}, sentences.NewProblem(c.Speaker.Sayf("Which summary? Give its number, as /summaries shows it: /expand 12"))
	}
	e, err := c.Records.Transcript().Expand(ctx, id, from, expandShown)
	if errors.Is(err, store.ErrNotFound) {
		err = fateError(ctx, c, id)
	}
	answer := Answer{Text: summaryWords(c.Speaker, e.Row)}
	for _, child := range e.Children {
		answer.Items = append(answer.Items, summaryLine(c.Speaker, child))
		answer.Lines = append(answer.Lines, fmt.Sprintf("/expand %d", child.ID))
	}
	for _, m := range e.Messages {
		answer.Items = append(answer.Items, record(c.Speaker, m))
	}
	if e.Next != 0 {
		answer.Items = append(answer.Items, c.Speaker.Sayf("There is more: /expand %d %d", id, e.Next))
	}
	return answer, err
}

// record returns a message for people.
func record(speaker sentences.Speaker, m chat.Message) string {
	return chat.RecordOf(m).Words(func(word string) string { return speaker.Word("record", word) })
}

// numberOf parses a number the way people write it, "12" or "#12".
func numberOf(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 64)
	return n, err == nil && n > 0
}
