package channel

import (
	"context"
	"sync"
	"time"

	"cairn/channel/report"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/store"
)

// Model usage is counted in memory and written with the next answer, or when the conversation becomes quiet or
// closes. So it costs a turn nothing, and a crash loses at most the latest numbers.

// usage counts what the models of a conversation used. It is safe for concurrent use.
type usage struct {
	*site

	mu      sync.Mutex // guards unsaved
	unsaved []store.Usage
}

// add adds usage that the database does not have.
func (u *usage) add(all ...store.Usage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.unsaved = append(u.unsaved, all...)
}

// take returns the usage to write now. If the write fails, the caller must add it again.
func (u *usage) take() (all []store.Usage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	all = u.unsaved
	u.unsaved = nil
	return all
}

// count records one model request of a kind, store.ForTurn or store.ForSummary; by are the people whose budgets count it. It does not block.
func (u *usage) count(kind, model string, tokens llm.Usage, by ...string) {
	list := u.access.Rules().Money.Prices
	price, _ := list.Of(model)
	used := store.Usage{Day: store.Day(time.Now()), Kind: kind, Model: model, Long: price.IsLong(int64(tokens.Prompt)), Requests: 1, By: by, Tokens: prices.Tokens{
		Input: int64(tokens.Prompt), Cached: int64(tokens.Cached), Written: int64(tokens.Written), Output: int64(tokens.Completion),
	}}
	u.add(used)
	if hook := u.o.Counted; hook != nil {
		hook(used)
	}
	if observer := u.observer(); observer != nil && tokens != (llm.Usage{}) {
		var e report.Expense
		e.Add(used, list)
		observer.Used(u.name, kind, model, e)
	}
	u.access.Count(used)
}

// flush writes what no answer has written, also when ctx has ended.
func (u *usage) flush(ctx context.Context) {
	all := u.take()
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := u.records.Turns().AddUsage(ctx, all); err != nil {
		u.add(all...) // the next answer writes it
		u.log.Debug("save_usage_failed", "error", err)
		return
	}
	u.access.Written(all...)
}
