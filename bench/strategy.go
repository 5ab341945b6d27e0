package main

import (
	"context"
	"time"

	"cairn/llm"
)

// strategy is a way to keep a conversation inside the window. Its methods are called
// in the order of the conversation.
type strategy interface {
	// hear takes what was not addressed to the bot.
	hear(ctx context.Context, all []said) error
	// ask takes the question that opens a turn.
	ask(ctx context.Context, m said, now string) error
	// request is what the model is sent now.
	request(ctx context.Context) (view, error)
	// look notes that the bot used a tool.
	look(ctx context.Context, found string) error
	// answer closes the turn, and lets what works in the background end.
	answer(ctx context.Context, text string) error
	// worker is what it spent beside the turns.
	worker() bill
	close() error
}

// view is a request, and what of it stands for the conversation, in tokens.
type view struct {
	req      llm.Request
	head     int // summaries
	verbatim int // messages word for word
}

// run has the conversation and charges its requests to till.
func run(ctx context.Context, s strategy, c *clock, turns []turn, till *till, progress func()) (row, error) {
	tally := tally{till: till}
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

// How long the parts of a turn take.
const (
	toolTakes   = 4 * time.Second
	answerTakes = 6 * time.Second
)

func converse(ctx context.Context, s strategy, c *clock, t turn, sum *tally) error {
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

// tally adds up what the turns' requests cost and show.
type tally struct {
	till     *till
	head     int // tokens of all requests together
	verbatim int // likewise
	least    int // of one request, since one was rewritten for the first time
}

func (t *tally) request(ctx context.Context, s strategy, answer string) error {
	v, err := s.request(ctx)
	if err != nil {
		return err
	}
	t.till.charge(v.req, answer)
	t.head += v.head
	t.verbatim += v.verbatim
	if t.till.bill.Rewrites > 1 && (v.verbatim < t.least || t.least == 0) {
		t.least = v.verbatim
	}
	return nil
}

// row is what one strategy cost in one conversation.
type row struct {
	Strategy string  `json:"strategy"`
	Window   int     `json:"window"`
	Turns    bill    `json:"turns"`
	Worker   bill    `json:"worker"`
	Input    float64 `json:"input"`          // of turns and worker, in tokens of uncached input
	Output   float64 `json:"output"`         // likewise
	Total    float64 `json:"total"`          // of both
	Head     float64 `json:"head_mean"`      // tokens of a request that are summaries
	Verbatim float64 `json:"verbatim_mean"`  // tokens of a request that are messages word for word
	Least    int     `json:"verbatim_least"` // the fewest, since one was rewritten for the first time
}

func (t *tally) row(worker bill) row {
	turns := t.till.bill
	r := row{
		Turns: turns, Worker: worker,
		Input: turns.input() + worker.input(), Output: turns.output() + worker.output(),
		Head:     float64(t.head) / float64(max(turns.Requests, 1)),
		Verbatim: float64(t.verbatim) / float64(max(turns.Requests, 1)), Least: t.least,
	}
	r.Total = r.Input + r.Output
	return r
}
