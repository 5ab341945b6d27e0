package channel

import (
	"context"
	"time"

	"cairn/channel/access"
	"cairn/chat"
	"cairn/llm/prices"
	"cairn/store"
)

// What a person may spend on a day, budget_per_person. The database counts it, so that it is the same for all processes, and after a
// restart.

// charge notes who pays for the turn: those of its people who have something left. If nobody has, it returns a sentence that says so,
// and the turn must not start; one that has started before may finish.
func (t *turn) charge(ctx context.Context) (refusal string, err error) {
	t.payers = nil
	people, budgets, err := t.budgets(ctx)
	if err != nil {
		return "", err
	}
	for _, id := range people {
		if b := budgets[id]; b.IsSpent() {
			refusal = b.Sentence()
		} else {
			t.payers = append(t.payers, id)
		}
	}
	switch {
	case len(t.payers) > 0:
		refusal = ""
	case t.Starts > 1:
		t.payers = people
		refusal = ""
	}
	return refusal, nil
}

// budgets returns the people who asked for the turn, and their budgets; nobody if there is no such budget.
func (t *turn) budgets(ctx context.Context) (people []string, budgets map[string]access.Budget, err error) {
	money := t.access.Rules().Money
	if money.PerPerson <= 0 {
		return nil, nil, nil
	}
	now := time.Now()
	people, err = t.records.Turns().Askers(ctx, t.Seq)
	if err != nil || len(people) == 0 {
		return nil, nil, err
	}
	used, err := store.LimitsOf(t.o.Store).SpentBy(ctx, store.Day(now), people)
	budgets = make(map[string]access.Budget)
	for _, id := range people {
		budgets[id] = money.OfPerson(used[id], now)
	}
	return people, budgets, err
}

// warnPayers tells the people who pay for the turn that most of their budget is spent, once a day.
func (t *turn) warnPayers(ctx context.Context) {
	if len(t.payers) == 0 || t.task != nil {
		return
	}
	_, budgets, err := t.budgets(ctx)
	told := make(map[string]bool)
	for _, m := range t.addressed(t.Seq) { // who wrote none of them reads it under the next answer
		if b, has := budgets[m.AuthorID]; has && err == nil && b.NearlySpent() && !told[m.AuthorID] {
			told[m.AuthorID] = true
			err = t.warnPayer(ctx, m, b)
		}
	}
	if err != nil && ctx.Err() == nil {
		t.log.Warn("notify_person_failed", "error", err)
	}
}

// warnPayer tells the author of a message.
func (t *turn) warnPayer(ctx context.Context, m chat.Message, b access.Budget) error {
	first, err := store.LimitsOf(t.o.Store).Tell(ctx, b.Period, m.AuthorID)
	if err != nil || !first {
		return err
	}
	text := "(%s: your budget for today is nearly used up: %s of %s. When it is used up, I stop answering you until %s.)"
	if b.IsSpent() {
		text = "(%s: your budget for today is used up: %s of %s. I will answer you again from %s on.)"
	}
	line := t.speaker().Sayf(text, m.Name(), prices.Money(b.Spent), prices.Money(b.Limit), chat.ZonedTime(b.Ends()))
	return t.sender.post(ctx, replyID{kind: replyAllowance, of: number(m.Seq)}.String(), line)
}
