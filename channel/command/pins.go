package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
)

// Commands for pinned messages.

// maxExcerpt is the length of a message in a list, in characters.
const maxExcerpt = 120

func runPin(ctx context.Context, c *Call) (Answer, error) {
	m, err := pinnable(ctx, c)
	if err != nil {
		return Answer{}, err
	}
	head, err := c.Records.Compactions().Head(ctx)
	if err != nil {
		return Answer{}, err
	}
	if slices.ContainsFunc(head.Pins, func(p compactor.Pin) bool { return p.Seq == m.Seq }) {
		return Answer{Text: fmt.Sprintf("Message #%d is already pinned.", m.Seq)}, nil
	}
	budget := c.Conversation.Status().PinBudget
	costs := compactor.PinCosts(append(head.Pins, compactor.Pin{Message: m}), budget)
	cost := costs[len(costs)-1]
	if cost.Tokens == 0 {
		return Answer{}, sentences.NewProblem(c.Speaker.Sayf("Message #%d does not fit: pin_budget allows %d tokens in total, and the message needs %d. /unpin another one, or set a larger pin_budget.", m.Seq, budget, cost.Full))
	}
	_, err = c.Records.Transcript().Pin(ctx, m.Seq, c.Who.Typist())
	answer := c.Speaker.Sayf("Message #%d is pinned, and stays in the prompt when older messages are summarized: %s", m.Seq, excerpt(c.Speaker, m))
	if cost.Tokens < cost.Full {
		answer += "\n" + c.Speaker.Sayf("It is clipped to %d of its %d tokens, because pin_budget allows %d in total.", cost.Tokens, cost.Full, budget)
	}
	return Answer{Text: answer, Buttons: []Button{{Label: "Unpin", Line: fmt.Sprintf("/unpin %d", m.Seq)}}}, err
}

// pinnable finds the message to pin: by its number, or the newest message of a person.
func pinnable(ctx context.Context, c *Call) (m chat.Message, err error) {
	m, named, err := c.message(ctx, c.Args)
	if c.Args == "" {
		m, err = c.Records.Transcript().Newest(ctx)
	}
	switch {
	case c.Args != "" && !named:
		return m, sentences.NewProblem(c.Speaker.Sayf("Which message? Give its number: /pin #12. Without a number I pin the newest message."))
	case errors.Is(err, store.ErrNotFound):
		return m, sentences.NewProblem("There is no such message in this conversation.")
	case err == nil && m.Seq == 0:
		return m, errWaits
	case err == nil && (m.Role == llm.RoleTool || strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0):
		return m, sentences.NewProblem(fmt.Sprintf("#%d cannot be pinned: it is one of my tool calls, not a message.", m.Seq))
	}
	return m, err
}

func runUnpin(ctx context.Context, c *Call) (Answer, error) {
	seq, ok := numberOf(c.Args)
	if !ok {
		return Answer{}, sentences.NewProblem(c.Speaker.Sayf("Which message? Give its number, as /pins shows it: /unpin #12"))
	}
	err := c.Records.Transcript().Unpin(ctx, seq)
	if errors.Is(err, store.ErrNotFound) {
		return Answer{}, sentences.NewProblem(fmt.Sprintf("Message #%d is not pinned.", seq))
	}
	return Answer{Text: fmt.Sprintf("Message #%d is no longer pinned.", seq), Buttons: []Button{{Label: "Pin", Line: fmt.Sprintf("/pin %d", seq)}}}, err
}

func runPins(ctx context.Context, c *Call) (Answer, error) {
	head, err := c.Records.Compactions().Head(ctx)
	if len(head.Pins) == 0 {
		return Answer{Text: c.Speaker.Sayf("Nothing is pinned here. /pin pins the newest message, /pin #12 another one.")}, err
	}
	budget := c.Conversation.Status().PinBudget
	costs := compactor.PinCosts(head.Pins, budget)
	answer := Answer{Text: fmt.Sprintf("Pinned messages (pin_budget allows %d tokens in total):", budget)}
	for i, p := range head.Pins {
		answer.Items = append(answer.Items, c.Speaker.Sayf("%s (pinned by %s, %d of %d tokens shown)", excerpt(c.Speaker, p.Message), chat.OneLine(p.By), costs[i].Tokens, costs[i].Full))
	}
	return answer, err
}

func excerpt(speaker sentences.Speaker, m chat.Message) string {
	return chat.Excerpt(record(speaker, m), maxExcerpt)
}
