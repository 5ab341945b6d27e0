package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
)

func runSummaries(ctx context.Context, c *conversation, who Person, args string) (Answer, error) {
	if args != "" {
		return runLines(ctx, c, who, args)
	}
	g := (*c.engineStatus.Load())()
	answer := Answer{Text: fmt.Sprintf("%d on the stack, oldest first:", len(g.Stack))}
	for _, session := range g.Past.Earlier {
		for _, row := range session.Rows {
			answer.Items = append(answer.Items, c.summaryLine(row)+c.sayf(" (from before a /new)"))
		}
	}
	for _, row := range g.Stack {
		answer.Items = append(answer.Items, c.summaryLine(row))
	}
	if len(answer.Items) == 0 {
		answer.Text = "Nothing has been summarized here: I see every message verbatim."
	} else if len(g.Stack) == 0 {
		answer.Text = c.sayf("Nothing has been summarized since the last /new. From before, oldest first:")
	}
	return answer, nil
}

// summaryLine describes a compaction in one line for people, and how to see what is behind it.
func (c *conversation) summaryLine(row compactor.Summary) string {
	words := c.summaryWords(row)
	lines := linesOf(row)
	if slices.ContainsFunc(lines, func(l SummaryLine) bool { return l.Evidence != nil && l.By == "" }) {
		words += c.sayf("; %d lines, %d without evidence, %d dropped", len(lines), row.Unsupported(), row.Dropped)
	}
	return words + c.sayf(": /expand %d", row.ID)
}

// summaryWords describes a compaction, numbered like a memory.
func (c *conversation) summaryWords(row compactor.Summary) string {
	language := c.language()
	by := madeBy(row.By, language)
	if row.Model != "" {
		by += " (" + row.Model + ")"
	}
	return c.sayf("(%d) %s, level %d: #%d to #%d, %s, %s in %d tokens, %s", row.ID, c.word("kind", string(row.Kind)), row.Level, row.From, row.To,
		days(row.FromTime, row.ToTime, language), c.messages(row.Messages), row.Tokens, by)
}

const (
	expandShown = 200 // the most messages that /expand shows
	maxExcerpt  = 120 // of a message in a list, in characters
)

func runExpand(ctx context.Context, c *conversation, _ Person, args string) (Answer, error) {
	number, begin, _ := strings.Cut(args, " ")
	id, ok := numberOf(number)
	from, also := numberOf(cmp.Or(strings.TrimSpace(begin), "1"))
	if !ok || !also {
		return Answer{}, errPeople(c.sayf("Which summary? Give its number, as /summaries shows it: /expand 12"))
	}
	e, err := c.records.Transcript().Expand(ctx, id, from, expandShown)
	if errors.Is(err, store.ErrNotFound) {
		err = c.fateError(ctx, id)
	}
	answer := Answer{Text: c.summaryWords(e.Row)}
	for _, child := range e.Children {
		answer.Items = append(answer.Items, c.summaryLine(child))
	}
	for _, m := range e.Messages {
		answer.Items = append(answer.Items, c.record(m))
	}
	if e.Next != 0 {
		answer.Items = append(answer.Items, c.sayf("There is more: /expand %d %d", id, e.Next))
	}
	return answer, err
}

func runContext(ctx context.Context, c *conversation, _ Person, _ string) (Answer, error) {
	language := c.language()
	now, err := c.hub.Operator().contextIn(ctx, c.name, language)
	if err == nil {
		now.Usage, err = c.hub.Operator().Spending(ctx, c.name)
	}
	return Answer{Text: c.hub.spell(c.name, now.in(language)), Aligned: true}, err
}

// numberOf parses a number the way people write it, "12" or "#12".
func numberOf(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 64)
	return n, err == nil && n > 0
}

func runPin(ctx context.Context, c *conversation, who Person, which string) (Answer, error) {
	m, err := c.pinnable(ctx, which)
	if err != nil {
		return Answer{}, err
	}
	head, err := c.records.Compactions().Head(ctx)
	if err != nil {
		return Answer{}, err
	}
	if slices.ContainsFunc(head.Pins, func(p compactor.Pin) bool { return p.Seq == m.Seq }) {
		return Answer{Text: fmt.Sprintf("Message #%d is already pinned.", m.Seq)}, nil
	}
	costs, budget := c.pinCosts(append(head.Pins, compactor.Pin{Message: m}))
	cost := costs[len(costs)-1]
	if cost.Shown == 0 {
		return Answer{}, errPeople(c.sayf("Message #%d does not fit: pin_budget allows %d tokens in total, and the message needs %d. /unpin another one, or set a larger pin_budget.", m.Seq, budget, cost.Whole))
	}
	_, err = c.records.Transcript().Pin(ctx, m.Seq, who.Typist())
	answer := c.sayf("Message #%d is pinned, and stays in the prompt when older messages are summarized: %s", m.Seq, c.excerpt(m))
	if cost.Shown < cost.Whole {
		answer += "\n" + c.sayf("It is clipped to %d of its %d tokens, because pin_budget allows %d in total.", cost.Shown, cost.Whole, budget)
	}
	return Answer{Text: answer}, err
}

// pinnable finds the message to pin: by its number, or the newest message of a person.
func (c *conversation) pinnable(ctx context.Context, which string) (m chat.Message, err error) {
	seq, ok := numberOf(which)
	if which == "" {
		m, err = c.records.Transcript().Newest(ctx)
	} else if ok {
		m, err = c.records.Transcript().Message(ctx, seq)
	}
	switch {
	case which != "" && !ok:
		return m, errPeople(c.sayf("Which message? Give its number: /pin #12. Without a number I pin the newest message."))
	case errors.Is(err, store.ErrNotFound):
		return m, errPeople("There is no such message in this conversation.")
	case err == nil && (m.Role == llm.RoleTool || strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0):
		return m, errPeople(fmt.Sprintf("#%d cannot be pinned: it is one of my tool calls, not a message.", m.Seq))
	}
	return m, err
}

func (c *conversation) pinCosts(pins []compactor.Pin) (costs []compactor.PinCost, budget int) {
	budget = (*c.engineStatus.Load())().PinBudget
	return compactor.PinCosts(pins, budget), budget
}

func runUnpin(ctx context.Context, c *conversation, _ Person, which string) (Answer, error) {
	seq, ok := numberOf(which)
	if !ok {
		return Answer{}, errPeople(c.sayf("Which message? Give its number, as /pins shows it: /unpin #12"))
	}
	err := c.records.Transcript().Unpin(ctx, seq)
	if errors.Is(err, store.ErrNotFound) {
		return Answer{}, errPeople(fmt.Sprintf("Message #%d is not pinned.", seq))
	}
	return Answer{Text: fmt.Sprintf("Message #%d is no longer pinned.", seq)}, err
}

func runPins(ctx context.Context, c *conversation, _ Person, _ string) (Answer, error) {
	head, err := c.records.Compactions().Head(ctx)
	if len(head.Pins) == 0 {
		return Answer{Text: c.sayf("Nothing is pinned here. /pin pins the newest message, /pin #12 another one.")}, err
	}
	costs, budget := c.pinCosts(head.Pins)
	answer := Answer{Text: fmt.Sprintf("Pinned messages (pin_budget allows %d tokens in total):", budget)}
	for i, p := range head.Pins {
		answer.Items = append(answer.Items, c.sayf("%s (pinned by %s, %d of %d tokens shown)", c.excerpt(p.Message), chat.OneLine(p.By), costs[i].Shown, costs[i].Whole))
	}
	return answer, err
}

func (c *conversation) excerpt(m chat.Message) string { return chat.Excerpt(c.record(m), maxExcerpt) }

// record returns a message for people.
func (c *conversation) record(m chat.Message) string {
	return chat.RecordOf(m).Words(func(word string) string { return c.word("record", word) })
}
