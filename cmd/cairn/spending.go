// What requests to the servers beside the models cost: of embeddings, and for transcription.

package main

import (
	"context"
	"slices"
	"time"

	"cairn/channel/access"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/store"
)

// hasBudget reports whether no budget is used up.
func (b *bot) hasBudget() bool {
	return !slices.ContainsFunc(b.hub.Operator().Access().Budgets(), func(one access.Budget) bool { return one.Spent >= one.Limit })
}

// spent counts what a request has cost. It writes in the background: a question must not wait until the database can be written.
func (b *bot) spent(kind, model, conversation string, used llm.Usage) {
	u := store.Usage{
		Day: store.Day(time.Now()), Kind: kind, Model: model, Requests: 1,
		Tokens: prices.Tokens{Input: int64(used.Prompt), Output: int64(used.Completion)},
	}
	b.metrics.add(u)
	b.hub.Operator().Access().Count(u)
	b.spending.Go(func() {
		ctx := context.WithoutCancel(b.ctx)
		c, err := b.store.Find(ctx, conversation)
		if err == nil {
			err = c.Turns().AddUsage(ctx, []store.Usage{u})
		}
		if err != nil {
			b.log.Debug("save_usage_failed", "error", err)
			return
		}
		b.hub.Operator().Access().Written(u)
	})
}
