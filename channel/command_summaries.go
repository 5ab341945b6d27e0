package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
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

// summaryLine describes a compaction in one line for people, numbered like MemoryLine.
func (c *conversation) summaryLine(row compactor.Compaction) string {
	by := string(row.By)
	if row.Model != "" {
		by += " (" + row.Model + ")"
	}
	expand := "not on disk yet"
	if row.ID != 0 {
		expand = c.sayf("/expand %d", row.ID)
	}
	return fmt.Sprintf("(%d) %s, level %d: #%d to #%d, %s, %d messages in %d tokens, by %s: %s",
		row.ID, row.Kind, row.Level, row.From, row.To, days(row.FromTime, row.ToTime), row.Messages, row.Tokens, by, expand)
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
	if begin = strings.TrimSpace(begin); ok && begin != "" {
		from, ok = numberOf(begin)
	}
	if !ok {
		return Answer{}, errPeople(c.sayf("Say which summary by its number, as /summaries shows it: /expand 12"))
	}
	e, err := c.records.Transcript().Expand(ctx, id, from, expandShown)
	if errors.Is(err, store.ErrNotFound) {
		return Answer{}, errPeople(c.sayf("There is no summary %d in this conversation; /summaries shows those there are.", id))
	}
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Text: strings.TrimSuffix(c.summaryLine(e.Row), c.sayf(": /expand %d", id))}
	for _, child := range e.Children {
		answer.Items = append(answer.Items, c.summaryLine(child))
	}
	for _, m := range e.Messages {
		answer.Items = append(answer.Items, messageLine(m))
	}
	if e.Next != 0 {
		answer.Items = append(answer.Items, c.sayf("There is more: /expand %d %d", id, e.Next))
	}
	return answer, nil
}

// MemoryLine formats a memory in one line for people. The number is in parentheses: "7." would
// start an ordered list in Markdown, which clients renumber.
func MemoryLine(m memory.Memory) string {
	var notes []string
	if m.Speaker != "" {
		notes = append(notes, oneLine(m.Speaker))
	}
	if m.About != "" && m.About != m.Speaker {
		notes = append(notes, "about "+oneLine(m.About))
	}
	notes = append(notes, m.SaidAt.Local().Format("2 January 2006"))
	switch {
	case m.Pinned:
		notes = append(notes, "pinned")
	case m.State == "expired":
		notes = append(notes, "expired on "+m.Expires.Local().Format("2 January 2006"))
	case !m.Expires.IsZero():
		notes = append(notes, "until "+m.Expires.Local().Format("2 January 2006 15:04 MST"))
	}
	return fmt.Sprintf("(%d) %s: %s (%s)", m.ID, m.Kind, oneLine(m.Content), strings.Join(notes, ", "))
}

// oneLine joins the lines of a text, so that no one can fake further items of a list.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// messageLine formats a whole message for people. It indents all lines but the first, so that no
// one can fake lines of other people.
func messageLine(m chat.Message) string {
	who := cmp.Or(oneLine(m.Author), string(m.Role))
	if m.Role == llm.RoleTool {
		who = "tool " + m.Tool
	}
	said := []string{m.Text}
	for _, a := range m.Attachments {
		said = append(said, fmt.Sprintf("[%s: %s]", cmp.Or(a.Kind, "file"), cmp.Or(a.Name, a.Caption, "unnamed")))
	}
	for _, call := range m.Calls {
		said = append(said, fmt.Sprintf("→ %s %s", call.Name, call.Arguments))
	}
	text := lineBreaks.Replace(strings.TrimSpace(strings.Join(said, " ")))
	return fmt.Sprintf("#%d %s %s: %s", m.Seq, m.Time.Local().Format("2006-01-02 15:04"), who, text)
}

// lineBreaks adds an indent after anything that a screen may treat as the end of a line.
var lineBreaks = func() *strings.Replacer {
	const next = "\n    "
	return strings.NewReplacer("\r\n", next, "\n", next, "\r", next, "\v", next, "\f", next, "\u0085", next, "\u2028", next, "\u2029", next)
}()

func runContext(ctx context.Context, c *conversation, _ Person, _ string) (Answer, error) {
	now, err := c.status(ctx)
	if err != nil {
		return Answer{}, err
	}
	if now.Usage, err = c.hub.Operator().spending(ctx, c.records, now.Model); err != nil {
		return Answer{}, err
	}
	return Answer{Text: c.spell(now.String()), Aligned: true}, nil
}
