package compactor_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/prompts"
)

// Without a model the stack is nearly full at every moment, and shares its room evenly among the
// parts of the conversation.
func TestExtractiveStackIsFullAndEven(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	r := newRig(t, 8000, nil)
	budget := 8000 * 15 / 100
	full, looks := 0, 0
	for i := range 300 {
		r.deliverNotes(fmt.Sprintf("On day %d Ada saw %d birds near River%d, and Paul sold boat %d to Marta%d.", i, i*7, i, i%97, i))
		r.waitIdle()
		stack := r.c.Status().Stack
		if len(stack) == 0 || stack[len(stack)-1].To < 180 {
			continue // it grows still
		}
		cost, hidden, most := 0, 0, 0
		for _, row := range stack {
			cost += row.Cost()
			hidden += row.Messages
			most = max(most, row.Messages)
		}
		looks++
		full += cost
		check.Require(t, cost <= budget, "after %d messages: got a stack of %d tokens, budget %d", i+1, cost, budget)
		check.Require(t, most <= hidden*2/3, "after %d messages: one row covers %d of %d", i+1, most, hidden)
	}
	share := full * 100 / max(looks*budget, 1)
	check.That(t, share >= 85, "got a mean of %d%% of the stack's budget", share)
	r.verify()
}

// A model's summary survives any number of extractive folds while nobody speaks to the bot. A fold
// by the model keeps it too.
func TestModelSummariesOutliveExtractiveRollups(t *testing.T) {
	check.SkipUnderRace(t)
	vault := regexp.MustCompile(`vault Zanzibar\d+`)
	worker := &llmtest.Model{Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		var text strings.Builder
		if strings.Contains(req.Messages[0].Text, prompts.In(prompts.English).Fold) {
			for _, known := range vault.FindAllString(fmt.Sprint(req.Messages[1:]), -1) {
				fmt.Fprintf(&text, "Ada keeps the key of %s in Lisbon since May 1987. ", known)
			}
		}
		fmt.Fprintf(&text, "Ada keeps the key of vault Zanzibar%d in Lisbon since May 1987. %s", n, filler(150))
		return summary(text.String()), nil
	}}
	r := newRig(t, 4000, worker)
	r.policy.MaxTurns = 1
	made := func() (n int) {
		for _, row := range r.c.Status().Stack {
			if row.By == compactor.ByWorker {
				n++
			}
		}
		return n
	}
	hear := func(n int, enough func() bool) {
		for i := 0; i < n && !enough(); i++ {
			r.deliverNotes(fmt.Sprintf("the key in Lisbon was fine since May 1987 and we went on as before %d %s", i, filler(40)))
			r.waitIdle()
		}
	}
	hear(600, func() bool { return made() >= 3 })
	check.Require(t, made() == 3, "got no three rows of the model: %+v", r.c.Status().Stack)
	r.quiet = true
	hear(150, func() bool { return false })
	check.Require(t, made() < 3, "got no fold of a model summary: %+v", r.c.Status().Stack)
	told := map[string]bool{}
	for _, one := range vault.FindAllString(r.inheritFromChannel(), -1) {
		told[one] = true
	}
	check.That(t, len(told) >= 3, "got part of the model's text lost: %v\nstack: %+v", told, r.c.Status().Stack)
}
