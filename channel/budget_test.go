package channel_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/prices"
)

// countsTokens answers each request and counts this many input tokens for it.
func countsTokens(tokens int) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(context.Context, int, llm.Request) (llm.Response, error) {
		return withBilledTokens(llmtest.Say("yes"), tokens, 0, 0, 0), nil
	}
}

// sendLongNotes sends n messages, to give the summarizer something to summarize.
func (r *rig) sendLongNotes(n int) {
	r.t.Helper()
	for i := range n {
		r.ask(fmt.Sprint("note ", i, " ", strings.Repeat("the tea of the north pier is cold again ", 20)))
		check.NoError(r.t, r.hub.Drain(r.t.Context()))
	}
}

func TestDailyBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, countsTokens(10)).withRules(channel.Rules{Money: channel.Money{Prices: priced, PerDay: 25}})
		log := r.captureLog()
		for range 3 {
			if said := r.ask("hello"); said != "yes" {
				t.Fatalf("within the budget: got reply %q", said)
			}
		}
		stopped := func(when string) {
			t.Helper()
			check.Contains(t, when, r.ask("hello"), "The budget for today is used up")
			check.Len(t, when+": r.model.Requests()", r.model.Requests(), 3)
		}
		stopped("when it is spent")
		r.restartCounting()
		stopped("after a restart")
		check.Equal(t, "rows in the transcript", len(r.transcript()), 8)
		if n := log.lines(slog.LevelWarn, "setting=budget_per_day"); n != 2 { // and again in the next process
			t.Errorf("got %d warnings in the log:\n%s", n, log.String())
		}
		time.Sleep(24 * time.Hour)
		check.Equal(t, "reply on the next day", r.ask("hello"), "yes")
		r.stop()
	})
}

func TestMonthlyBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, countsTokens(10)).withRules(channel.Rules{Money: channel.Money{Prices: priced, PerDay: 10, PerMonth: 20}})
		r.ask("hello")
		time.Sleep(24 * time.Hour)
		r.restartCounting()
		r.ask("hello")
		said := r.ask("hello")
		check.Contains(t, "reply with both budgets exhausted", said, "The budget for this month is used up", "from 2000-02-01 on", "budget_per_month")
		time.Sleep(30 * 24 * time.Hour)
		check.Equal(t, "reply in the next month", r.ask("hello"), "yes")
		r.stop()
	})
}

func TestBudgetAndPriceEditsApplyAtOnce(t *testing.T) {
	r := newRig(t, countsTokens(10)).withRules(channel.Rules{Money: channel.Money{Prices: priced, PerDay: 10}})
	r.ask("hello")
	if said := r.ask("hello"); !strings.Contains(said, "is used up") {
		t.Fatalf("got reply %q, want the budget notice", said)
	}
	for name, money := range map[string]channel.Money{
		"a budget that is raised":  {Prices: priced, PerDay: 1000},
		"a budget that is removed": {Prices: priced},
		"a price that is lowered":  {Prices: prices.List{"scripted": {}}, PerDay: 10},
	} {
		r.hub.Renew(channel.Rules{Money: money})
		check.Equal(t, name, r.ask("hello"), "yes")
	}
}

// TestTurnThatExhaustsBudgetStillAnswers: an answer that is already paid for is not thrown away.
func TestTurnThatExhaustsBudgetStillAnswers(t *testing.T) {
	r := newRig(t, func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		if n < 4 {
			return withBilledTokens(llmtest.Use(llmtest.Call("c", "recall", map[string]string{"question": "tea"})), 10, 0, 0, 0), nil
		}
		return withBilledTokens(llmtest.Say("in the kitchen"), 10, 0, 0, 0), nil
	}).withRules(channel.Rules{Money: channel.Money{Prices: priced, PerDay: 25}})
	check.Equal(t, "reply", r.ask("where is the tea?"), "in the kitchen")
}

// TestExhaustedBudgetSummarizesWithoutModel: when the budget is spent (here by the worker's model alone),
// summaries are made without a model.
func TestExhaustedBudgetSummarizesWithoutModel(t *testing.T) {
	r := newRig(t, echo)
	r.model.Tokens = 6000
	worker := r.withWorker(func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		return withBilledTokens(summary(fmt.Sprint("Summary ", n, " of what they said, word by word.")), 100, 0, 0, 0), nil
	})
	worker.Tokens = 6000
	r = r.withRules(channel.Rules{Money: channel.Money{Prices: priced, PerDay: 1000}})
	r.sendLongNotes(20)
	before := len(worker.Requests())
	if said := r.run("/context"); before == 0 || strings.Contains(said, "by extractive") {
		t.Fatalf("within the budget, %d requests:\n%s", before, said)
	}
	r.hub.Renew(channel.Rules{Money: channel.Money{Prices: priced, PerDay: 50}})
	if said := r.ask("hello"); !strings.Contains(said, "The budget for today is used up") {
		t.Errorf("got reply %q, usage rows %q", said, r.usageRows())
	}
	r.sendLongNotes(20)
	said := r.run("/context")
	if len(worker.Requests()) != before || !strings.Contains(said, "by extractive") {
		t.Errorf("%d requests more to the worker's model:\n%s", len(worker.Requests())-before, said)
	}
	check.Lacks(t, "/context", said, "failed")
	check.Contains(t, "recap", r.finished(r.runAsManager("/recap")), "no model may be called here for now")
}

func TestOwnerBudgetNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := channel.Rules{Money: channel.Money{Prices: priced, PerDay: 100}, Access: map[string]channel.Access{"test": {Owners: []string{"boss"}}}}
		r := newRig(t, countsTokens(30)).withRules(rules)
		r.agent.Language = "de"
		notices := func() (n []string) {
			for _, sent := range r.connector.texts() {
				if strings.HasPrefix(sent, "(") {
					n = append(n, sent)
				}
			}
			return n
		}
		from := func(author string) {
			t.Helper()
			m := r.inbound("hello", true)
			m.AuthorID = author
			r.deliverMessage(m)
			r.waitForReplies()
		}
		from("boss")
		from("boss")
		if n := notices(); len(n) != 0 {
			t.Errorf("got notices %q at 60%%, want none", n)
		}
		from("u1")
		check.Equal(t, "warnings to other people", len(notices()), 0)
		from("boss") // 120%
		r.restartCounting()
		from("boss")
		want := "(budget_per_day ist aufgebraucht: 120.00 von 100.00. Ab 2000-01-02 00:00 UTC antworte ich wieder, oder sobald es erhöht wird.)"
		check.EqualAll(t, "notices", notices(), []string{want})
		time.Sleep(24 * time.Hour)
		for range 3 {
			from("boss")
		}
		check.EqualAll(t, "notices on two days", notices(), []string{want, "(budget_per_day ist fast aufgebraucht: 90.00 von 100.00. Ist alles aufgebraucht, antworte ich nicht mehr bis 2000-01-03 00:00 UTC.)"})
		r.stop()
	})
}
