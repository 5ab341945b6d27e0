package channel

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"cairn/channel/access"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/store"
)

// Model usage is counted in memory and written with the next answer, or when the conversation becomes quiet or
// closes. So it costs a turn nothing, and a crash loses at most the latest numbers.

// usage counts what the models of a conversation used. It is safe for concurrent use.
type usage struct {
	conversation string
	records      *store.Conversation
	access       *access.Control
	observer     Observer          // nil: the connector does not follow it
	counted      func(store.Usage) // called with what each request used; nil: not called
	log          *slog.Logger

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

// count records one model request of a kind, store.ForTurn or store.ForSummary. It does not block.
func (u *usage) count(kind, model string, tokens llm.Usage) {
	list := u.access.Rules().Money.Prices
	price, _ := list.Of(model)
	used := store.Usage{Day: store.Day(time.Now()), Kind: kind, Model: model, Long: price.IsLong(int64(tokens.Prompt)), Requests: 1, Tokens: prices.Tokens{
		Input: int64(tokens.Prompt), Cached: int64(tokens.Cached), Written: int64(tokens.Written), Output: int64(tokens.Completion),
	}}
	u.add(used)
	if u.counted != nil {
		u.counted(used)
	}
	if u.observer != nil && tokens != (llm.Usage{}) {
		var e Expense
		e.Add(used, list)
		u.observer.Used(u.conversation, kind, model, e)
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
	}
}

// Stats are the numbers of a hub. Counters start with the hub.
type Stats struct {
	Open  int // conversations in memory
	Stuck int // how many of them currently cannot continue, for example because the disk refuses writes

	Refused int   // conversations whose next reply could not be sent and is being retried
	Dropped int64 // pieces of replies that were given up

	Turns   int64 // turns that were answered
	Failed  int64 // turns that ended with a sentence on why there is no answer
	Failing int64 // how many turns failed since the last answer
}

// Stats returns the current numbers.
func (h *Hub) Stats() Stats {
	var s Stats
	h.locked(func() {
		s = h.stats
		s.Stuck = len(h.stuck)
	})
	open := h.list()
	s.Open = len(open)
	for _, c := range open {
		if c.sender.failing.On() {
			s.Refused++
		}
	}
	return s
}

// Expense is what model requests used, and what that costs.
type Expense struct {
	Requests int64 `json:"requests"`
	prices.Tokens
	Cost float64 `json:"cost" jsonschema:"in US dollars"`
}

// Add adds usage. priced is false if the model's price is unknown: then it counts as 0.
func (e *Expense) Add(u store.Usage, list prices.List) (priced bool) {
	e.Requests += u.Requests
	e.Tokens.Add(u.Tokens)
	price, priced := list.Of(u.Model)
	e.Cost += price.Cost(u.Tokens, u.Long)
	return priced
}

// Spending is a conversation's model usage and its cost.
type Spending struct {
	Today       Expense         `json:"today"`
	Total       Expense         `json:"total"`
	Summaries   Expense         `json:"summaries"`                        // part of Total
	SavedTokens int64           `json:"saved_tokens"`                     // tokens that summaries kept out of the requests of turns, approximately
	Saved       float64         `json:"saved" jsonschema:"in US dollars"` // what these would cost as cached input of the current model
	Budgets     []access.Budget `json:"budgets"`                          // of the whole bot; those that are set
	NoPrice     []string        `json:"no_price"`                         // models that count as 0 because their price is unknown
}

// ReadSpending reads what a conversation's models were used for; agent is the one that answers in it, all are the
// budgets of the bot.
func ReadSpending(ctx context.Context, records *store.Conversation, agent Agent, m access.Money, all ...access.Budget) (*Spending, error) {
	used, err := records.Turns().Usage(ctx)
	if err != nil {
		return nil, err
	}
	report := NewUsageReport(used, "", "day", m.Prices)
	s := &Spending{Total: report.Total.Expense, Summaries: report.Total.Summaries, NoPrice: report.NoPrice}
	s.Budgets = append([]access.Budget{}, all...)
	for _, row := range report.Rows {
		if row.Day == store.Day(time.Now()) {
			s.Today = row.Expense
		}
	}
	policy, err := agent.PolicyOf(ctx, records)
	if err != nil {
		return nil, err
	}
	window := policy.Window(agent.Model.Window(ctx).Tokens)
	s.SavedTokens, err = records.Turns().Saved(ctx, compactor.BurstBudget(window))
	price, _ := m.Prices.Of(agent.Model.Name())
	s.Saved = price.Cost(prices.Tokens{Input: s.SavedTokens, Cached: s.SavedTokens}, false)
	return s, err
}

// UsageKeys are the keys by which a report can group its rows.
var UsageKeys = []string{"day", "conversation", "model"}

// UsageReport is what `cairn usage` shows.
type UsageReport struct {
	Since   string     `json:"since"` // a day; empty: all time
	By      string     `json:"by"`
	Rows    []UsageRow `json:"rows"`
	Total   Expenses   `json:"total"`
	NoPrice []string   `json:"no_price"` // models that count as 0
}

// UsageRow is the usage of a day, a conversation or a model: only that one is set.
type UsageRow struct {
	Day          string `json:"day,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	Model        string `json:"model,omitempty"`
	Expenses
}

// Key returns the value that the row is grouped by.
func (r UsageRow) Key() string { return cmp.Or(r.Day, r.Conversation, r.Model) }

// Expenses are the expense of all requests, and the part of it for summaries.
type Expenses struct {
	Expense
	Summaries Expense `json:"summaries"`
}

func (e *Expenses) add(u store.Usage, list prices.List) (priced bool) {
	if u.Kind == store.ForSummary {
		e.Summaries.Add(u, list)
	}
	return e.Add(u, list)
}

// NewUsageReport adds up usage by one of UsageKeys; since is the first day it covers.
func NewUsageReport(used []store.Usage, since, by string, list prices.List) UsageReport {
	r := UsageReport{Since: since, By: by, Rows: []UsageRow{}, NoPrice: []string{}}
	at := map[UsageRow]int{}
	for _, u := range used {
		row := map[string]UsageRow{"day": {Day: u.Day}, "conversation": {Conversation: u.Conversation}, "model": {Model: u.Model}}[by]
		if _, known := at[row]; !known {
			at[row] = len(r.Rows)
			r.Rows = append(r.Rows, row)
		}
		r.Rows[at[row]].add(u, list)
		if !r.Total.add(u, list) && !slices.Contains(r.NoPrice, u.Model) {
			r.NoPrice = append(r.NoPrice, u.Model)
		}
	}
	if by != "day" { // days are in order; otherwise the most expensive come first
		slices.SortStableFunc(r.Rows, func(a, b UsageRow) int {
			return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Input, a.Input), cmp.Compare(a.Key(), b.Key()))
		})
	}
	return r
}
