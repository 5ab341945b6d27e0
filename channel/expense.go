package channel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/llm/prices"
	"cairn/memory"
)

// Expense is what requests to models took, and what that costs.
type Expense struct {
	Requests int64   `json:"requests"`
	Input    int64   `json:"input_tokens"`
	Cached   int64   `json:"cached_tokens"`  // of Input: read from the provider's cache
	Written  int64   `json:"written_tokens"` // of Input: written to the provider's cache
	Output   int64   `json:"output_tokens"`
	Cost     float64 `json:"cost"`
}

// Add adds usage. priced is false if nobody knows what the model costs: then it counts 0.
func (e *Expense) Add(u memory.Usage, list prices.List) (priced bool) {
	e.Requests += u.Requests
	e.Input += u.Input
	e.Cached += u.Cached
	e.Written += u.Written
	e.Output += u.Output
	price, priced := list.Of(u.Model)
	e.Cost += price.Cost(tokensOf(u))
	return priced
}

// String is the expense in words.
func (e Expense) String() string {
	return fmt.Sprintf("%d requests, %d tokens in (%d cached, %d written), %d out: %s", e.Requests, e.Input, e.Cached, e.Written, e.Output, prices.Money(e.Cost))
}

// Spending is what a conversation's models were used for.
type Spending struct {
	Today       Expense  `json:"today"`
	Total       Expense  `json:"total"`
	Summaries   Expense  `json:"summaries"`    // of Total
	SavedTokens int64    `json:"saved_tokens"` // that summaries kept out of the requests of turns, about
	Saved       float64  `json:"saved"`        // what these cost as cached input of the model that answers now
	Budgets     []Budget `json:"budgets"`      // of the whole bot; those that are set
	NoPrice     []string `json:"no_price"`     // models that count 0, because nobody knows what they cost
}

// ReadSpending reads what a conversation's models were used for; model is the one that
// answers in it.
func ReadSpending(ctx context.Context, records *memory.Conversation, model string, m Money) (*Spending, error) {
	used, err := records.Usage(ctx)
	if err != nil {
		return nil, err
	}
	s := &Spending{Budgets: []Budget{}, NoPrice: []string{}}
	today := memory.Day(time.Now())
	for _, u := range used {
		if !s.Total.Add(u, m.Prices) && !slices.Contains(s.NoPrice, u.Model) {
			s.NoPrice = append(s.NoPrice, u.Model)
		}
		if u.Day == today {
			s.Today.Add(u, m.Prices)
		}
		if u.Kind == memory.ForSummary {
			s.Summaries.Add(u, m.Prices)
		}
	}
	if s.SavedTokens, err = records.Saved(ctx); err != nil {
		return nil, err
	}
	price, _ := m.Prices.Of(model)
	s.Saved = price.Cost(prices.Tokens{Input: s.SavedTokens, Cached: s.SavedTokens})
	return s, nil
}

func (s *Spending) write(b *strings.Builder) {
	if s == nil {
		return
	}
	if s.Total.Requests > 0 {
		fmt.Fprintf(b, "today     %s\nin all    %s\n", s.Today, s.Total)
	}
	if s.Summaries.Requests > 0 || s.SavedTokens > 0 {
		fmt.Fprintf(b, "summaries %s; they saved about %d tokens of cached input: %s\n", s.Summaries, s.SavedTokens, prices.Money(s.Saved))
	}
	if len(s.Budgets) > 0 {
		var words []string
		for _, one := range s.Budgets {
			words = append(words, one.String())
		}
		fmt.Fprintf(b, "budget    %s, in all conversations\n", strings.Join(words, ", "))
	}
	for _, model := range s.NoPrice {
		fmt.Fprintf(b, "no price  for %s: it counts as 0; set [prices.%q]\n", model, model)
	}
}
