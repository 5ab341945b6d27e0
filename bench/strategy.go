package main

import (
	"context"
	"fmt"
	"time"

	"cairn/chat"
	"cairn/llm"
)

// strategy is a way to keep a conversation inside the window. Its methods are called in the order
// of the conversation.
type strategy interface {
	// hear adds messages that are not addressed to the bot.
	hear(ctx context.Context, all []said) error
	// ask adds the question that starts a turn.
	ask(ctx context.Context, m said, now string) error
	// request returns the next request to the model.
	request(ctx context.Context) (view, error)
	// look adds the result of a tool call.
	look(ctx context.Context, found string) error
	// answer ends the turn, and waits for background work.
	answer(ctx context.Context, text string) error
	// worker returns what was spent besides the turns.
	worker() bill
	close() error
}

// view is a request, and its tokens that represent the conversation.
type view struct {
	req      llm.Request
	head     int // of summaries
	verbatim int // of verbatim messages
}

// run runs the conversation and charges its requests to meter.
func run(ctx context.Context, s strategy, c *clock, turns []turn, meter *meter, progress func()) (row, error) {
	tally := costSum{meter: meter}
	for _, t := range turns {
		if err := ctx.Err(); err != nil {
			return row{}, err
		}
		progress()
		c.pass(t.gap)
		if err := converse(ctx, s, c, t, &tally); err != nil {
			return row{}, err
		}
	}
	return tally.row(s.worker()), nil
}

// Durations of the parts of a turn.
const (
	toolTakes   = 4 * time.Second
	answerTakes = 6 * time.Second
)

func converse(ctx context.Context, s strategy, c *clock, t turn, sum *costSum) error {
	if err := s.hear(ctx, t.overheard); err != nil {
		return err
	}
	if err := s.ask(ctx, t.question, t.now); err != nil {
		return err
	}
	if t.looked != "" {
		if err := sum.request(ctx, s, "recall"); err != nil {
			return err
		}
		c.pass(toolTakes)
		if err := s.look(ctx, t.looked); err != nil {
			return err
		}
	}
	if err := sum.request(ctx, s, t.answer); err != nil {
		return err
	}
	c.pass(answerTakes)
	return s.answer(ctx, t.answer)
}

// lookedUp returns a call of a tool, and its result.
func lookedUp(turn int64, found string) []chat.Message {
	id := fmt.Sprint("call_", turn)
	return []chat.Message{
		{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: id, Name: "recall", Arguments: `{"query":"that"}`}}},
		{Role: llm.RoleTool, CallID: id, Tool: "recall", Text: found},
	}
}

// costSum adds up the costs and contents of the turns' requests.
type costSum struct {
	meter       *meter
	head        int // tokens, sum over all requests
	verbatim    int // as head
	minVerbatim int // minimum of one request since the first rewrite
}

func (t *costSum) request(ctx context.Context, s strategy, answer string) error {
	v, err := s.request(ctx)
	if err != nil {
		return err
	}
	t.meter.charge(v.req, answer)
	t.head += v.head
	t.verbatim += v.verbatim
	if t.meter.bill.Rewrites > 1 && (v.verbatim < t.minVerbatim || t.minVerbatim == 0) {
		t.minVerbatim = v.verbatim
	}
	return nil
}

// row has the costs of one strategy in one conversation.
type row struct {
	Strategy string  `json:"strategy"`
	Window   int     `json:"window"`
	Turns    bill    `json:"turns"`
	Worker   bill    `json:"worker"`
	Input    float64 `json:"input"`          // of turns and worker, in tokens of uncached input
	Output   float64 `json:"output"`         // as Input
	Total    float64 `json:"total"`          // of both
	Head     float64 `json:"head_mean"`      // tokens of summaries per request
	Verbatim float64 `json:"verbatim_mean"`  // tokens of verbatim messages per request
	Least    int     `json:"verbatim_least"` // the minimum since the first rewrite
}

func (t *costSum) row(worker bill) row {
	turns := t.meter.bill
	r := row{
		Turns: turns, Worker: worker,
		Input: turns.input() + worker.input(), Output: turns.output() + worker.output(),
		Head:     float64(t.head) / float64(max(turns.Requests, 1)),
		Verbatim: float64(t.verbatim) / float64(max(turns.Requests, 1)), Least: t.minVerbatim,
	}
	r.Total = r.Input + r.Output
	return r
}
