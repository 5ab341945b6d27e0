package channel_test

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/llm"
	"cairn/llm/openai"
	"cairn/llm/prices"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

type journal struct{ check.Buffer }

// lines counts the lines of a level that contain words.
func (j *journal) lines(level slog.Level, words string) int {
	return len(regexp.MustCompile("level="+level.String()+" .*"+words).FindAllString(j.String(), -1))
}

func (j *journal) count(words string) int { return strings.Count(j.String(), words) }

func (r *rig) captureLog() *journal {
	j := new(journal)
	r.opts.Log = slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.reopen()
	return j
}

// sendLongNotes sends n messages, to give the summarizer something to summarize.
func (r *rig) sendLongNotes(n int) {
	r.t.Helper()
	for i := range n {
		r.ask(fmt.Sprint("note ", i, " ", strings.Repeat("the tea of the north pier is cold again ", 20)))
		check.NoError(r.t, r.hub.Drain(r.t.Context()))
	}
}

// billed returns a model that answers yes, and is billed for this many input tokens each time.
func billed(tokens int) script {
	return always(withBilledTokens(llmtest.Say("yes"), llm.Usage{Prompt: tokens, Completion: 1}))
}

func TestBudgets(t *testing.T) {
	time.Local = check.Must(time.LoadLocation("America/New_York"))(t)
	defer func() { time.Local = time.UTC }()             // as in TestMain
	inBubble(t, billed(10), func(t *testing.T, r *rig) { // midnight in UTC, seven in the evening in New York
		money := access.Money{Prices: priced, PerDay: 25}
		log := r.withRules(access.Rules{Money: money}).captureLog()
		for range 3 {
			check.Require(t, r.ask("hello") == "yes", "got no answer within the budget")
		}
		stopped := func(when string, want ...string) {
			t.Helper()
			calls := len(r.model.Requests())
			check.Contains(t, when, r.ask("hello"), append(want, "The budget for today is used up", "budget_per_day")...)
			check.Len(t, when+": requests", r.model.Requests(), calls)
		}
		stopped("when it is spent")
		r.restartCounting()
		stopped("after a restart")
		check.Len(t, "rows in the transcript", r.transcript(), 8)
		check.Equal(t, "warnings, one in each process", log.lines(slog.LevelWarn, "setting=budget_per_day"), 2)
		time.Sleep(4*time.Hour + 59*time.Minute)
		for name, edited := range map[string]access.Money{
			"a budget that is raised":  {Prices: priced, PerDay: 1000},
			"a budget that is removed": {Prices: priced},
			"a price that is lowered":  {Prices: prices.List{"scripted": {}}, PerDay: 10},
		} {
			r.hub.Renew(access.Rules{Money: edited})
			check.Equal(t, name, r.ask("hello"), "yes")
		}
		r.hub.Renew(access.Rules{Money: money})
		stopped("a minute before midnight", "ask again in a minute")
		time.Sleep(time.Minute)
		check.Equal(t, "reply on the next day", r.ask("hello"), "yes")
		check.EqualAll(t, "rows", r.usageRows(), []string{"1999-12-31 turn scripted 6 60 0 0 6", "2000-01-01 turn scripted 1 10 0 0 1"})
	})
	time.Local = time.UTC
	inBubble(t, billed(10), func(t *testing.T, r *rig) {
		r.withRules(access.Rules{Money: access.Money{Prices: priced, PerDay: 10, PerMonth: 20}})
		r.ask("hello")
		time.Sleep(24 * time.Hour)
		r.restartCounting()
		r.ask("hello")
		said := r.ask("hello")
		check.Contains(t, "reply with both budgets exhausted", said, "The budget for this month is used up", "from 2000-02-01 on", "budget_per_month")
		time.Sleep(30 * 24 * time.Hour)
		check.Equal(t, "reply in the next month", r.ask("hello"), "yes")
	})
}

func TestOwnerBudgetNotices(t *testing.T) {
	inBubble(t, billed(30), func(t *testing.T, r *rig) {
		lists := map[string]access.Access{"test": {Owners: []string{"boss"}}}
		r.withRules(access.Rules{Money: access.Money{Prices: priced, PerDay: 100}, Access: lists})
		r.agent.Language = "de"
		var want []string
		from := func(author string, notices ...string) {
			t.Helper()
			r.tell(place, "hello", func(m *channel.Inbound) {
				m.AuthorID = author
				m.Addressed = true
			})
			want = append(want, notices...)
			got := slices.DeleteFunc(r.connector.texts(), func(sent string) bool { return !strings.HasPrefix(sent, "(") })
			check.EqualAll(t, "notices", got, want)
		}
		from("boss")
		from("boss") // 60 %
		from("u1")   // 90 %, but no owner
		from("boss", "(budget_per_day ist aufgebraucht: $120.00 von $100.00. Ab 2000-01-02 00:00 UTC antworte ich wieder, oder sobald es erhöht wird.)")
		r.restartCounting()
		from("boss")
		time.Sleep(24 * time.Hour)
		from("boss")
		from("boss")
		from("boss", "(budget_per_day ist fast aufgebraucht: $90.00 von $100.00. Ist alles aufgebraucht, antworte ich nicht mehr bis 2000-01-03 00:00 UTC.)")
	})
}

func TestCallsPerHour(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		r.withRules(access.Rules{CallsPerHour: 8})
		log := r.captureLog()
		for range 12 {
			r.ask("hello")
			time.Sleep(time.Minute)
		}
		check.Len(t, "calls", r.model.Requests(), 8)
		sent := r.connector.sent
		check.Len(t, "replies", sent, 12)
		check.That(t, !sent[7].Failure && sent[8].Failure && sent[11].Failure, "got replies %+v", sent[7:])
		check.Contains(t, "notice", sent[8].Text, "ask again in 52 minutes")
		check.Equal(t, "warnings", log.lines(slog.LevelWarn, ""), 1)
		r.wantAnswer("/context", "calls     8 of 8 in the last hour")
		time.Sleep(48 * time.Minute) // the first call is an hour old
		check.Equal(t, "reply after an hour", r.ask("and now?"), "answer 9")
		time.Sleep(time.Hour)
		check.Equal(t, "reply after two hours", r.ask("at last"), "answer 10")
		check.Len(t, "rows in the transcript", r.transcript(), 14+10)
	})
}

// People still get answers when summaries have used up their share: those are made without a model, and again later.
func TestSummariesUseLimitedShareOfCalls(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		r.model.Tokens = 6000
		worker := r.withWorker(always(summary("They said: the tea of the north pier.")))
		worker.Tokens = 6000
		r.withRules(access.Rules{CallsPerHour: 40})
		log := r.captureLog()
		r.sendLongNotes(36)
		turns := len(r.model.Requests())
		summaries := len(worker.Requests())
		check.Require(t, turns+summaries <= 40 && summaries > 0 && turns >= 20, "%d turns and %d summaries", turns, summaries)
		unrepaired := func() bool {
			answer := r.run("/context")
			return strings.Contains(answer, "by extractive") || strings.Contains(answer, "to be summarized")
		}
		check.Equal(t, "summaries without the model", unrepaired(), true)
		check.Equal(t, "warnings", log.lines(slog.LevelWarn, ""), 1)
		for range 4 { // the last repair shows only in the next request
			time.Sleep(2 * time.Hour)
			r.ask("how are you?")
			synctest.Wait() // the summaries have ended too
		}
		time.Sleep(time.Hour)
		check.Equal(t, "unrepaired summaries", unrepaired(), false)
	})
}

// A server that fails every attempt but the last costs no more than a turn may.
func TestTurnRequestLimit(t *testing.T) {
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if x.N%4 != 0 {
			x.Refuse(503, "", "busy")
			return
		}
		x.Use(fmt.Sprint(x.N), "recall", `{"query":"tea"}`)
	})
	r := newRig(t, nil)
	r.agent.Model = check.Must(openai.New(openai.Options{BaseURL: server.URL, RetryDelay: time.Microsecond}))(t)
	r.ask("where is the tea?")
	check.Len(t, "sent", r.connector.texts(), 1)
	check.That(t, len(server.Requests()) <= 48, "got %d requests", len(server.Requests()))
}

func TestUsageOfTurnsIsStored(t *testing.T) {
	call := withBilledTokens(useTool("recall", map[string]any{"question": "tea"}), llm.Usage{Prompt: 100, Cached: 10, Written: 5, Completion: 3})
	r := newRig(t, inSteps(always(call), cutOff(200), always(withBilledTokens(llmtest.Say("here"), llm.Usage{Prompt: 300, Cached: 100, Completion: 4}))))
	var counted []store.Usage
	r.opts.Counted = func(u store.Usage) { counted = append(counted, u) }
	// An answer that is already paid for is not thrown away.
	r.withRules(access.Rules{Money: access.Money{Prices: prices.List{"scripted": {Rates: prices.Rates{Input: 1e6}}}, PerDay: 150}})
	check.Equal(t, "answer, with the budget spent before it", r.ask("where is the tea?"), "here")
	r.wantUsage("after a turn", "turn scripted 3 600 110 5 8")
	r.hub.Renew(access.Rules{})
	r.ask("and now?")
	r.restart()
	r.wantUsage("after a restart", "turn scripted 4 900 210 5 12")
	counts := storetest.Map(counted, func(u store.Usage) string { return fmt.Sprint(u.Kind, " ", u.Model, " ", u.Input) })
	check.Equal(t, "counts", texts(counts), "turn scripted 100 | turn scripted 200 | turn scripted 300 | turn scripted 300")
}

func TestUsageOfTurnsWithoutAnAnswerIsStored(t *testing.T) {
	for name, end := range map[string]func(r *rig) error{
		"a turn that fails":                func(*rig) error { return &llm.Error{Kind: llm.KindBadRequest, Message: "no"} },
		"a turn whose question is deleted": func(r *rig) error { return r.hub.Delete(r.t.Context(), place, "m1") },
	} {
		r := newRig(t, nil)
		r.model.Func = func(context.Context, int, llm.Request) (llm.Response, error) {
			return withBilledTokens(llmtest.Say("late"), llm.Usage{Prompt: 50, Completion: 1}), end(r)
		}
		r.ask("hello")
		r.wantUsage(name, "turn scripted 1 50 0 0 1")
		check.Equal(t, name+": turns answered", r.hub.Stats().Turns, 0)
	}
	asked := make(chan struct{})
	r := newRig(t, then(withBilledTokens(useTool("recall", map[string]any{"question": "tea"}), llm.Usage{Prompt: 90, Completion: 2}), while(func(int) { close(asked) }, blockUntilCanceled)))
	r.say("hello", true)
	<-asked
	r.reopen()
	r.wantUsage("a turn interrupted by shutdown", "turn scripted 1 90 0 0 2")
}

// Of recaps and failed requests, too, without a further turn. With the worker's budget spent, no model makes them.
func TestUsageOfSummariesIsStored(t *testing.T) {
	r := newRig(t, echo).withWindow(6000)
	worker := r.withWorker(func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		return withBilledTokens(summary(fmt.Sprint("The tea of the north pier is cold again, as in answer ", n, ".")), llm.Usage{Prompt: 1000, Written: 500, Completion: 20}), nil
	})
	worker.Tokens = 6000
	r.sendLongNotes(20)
	summaries := func(want ...any) {
		t.Helper()
		r.waitForReplies()
		rows := r.usageRows()
		check.Len(t, "rows", rows, 2)
		check.Contains(t, "rows", rows[1], " summary worker "+fmt.Sprintf("%d %d 0 %d %d", want...))
	}
	n := len(worker.Requests())
	check.Require(t, n != 0, "got no summary")
	summaries(n, 1000*n, 500*n, 20*n)
	shown := r.wantAnswer("/context", fmt.Sprintf("%d tokens in (0 cached, %d written), %d out: $0.00; they saved about ", 1000*n, 500*n, 20*n))
	check.Lacks(t, "/context", shown, "saved about 0 tokens", "by extractive")
	worker.Func = cutOff(10)
	r.finished(r.runAsManager("/recap"))
	check.Len(t, "requests with that for a recap", worker.Requests(), n+1)
	summaries(n+1, 1000*n+10, 500*n, 20*n+1)

	r.hub.Renew(access.Rules{Money: access.Money{Prices: priced, PerDay: 500}})
	check.Contains(t, "reply", r.ask("hello"), "The budget for today is used up")
	r.sendLongNotes(20)
	check.Lacks(t, "/context", r.wantAnswer("/context", "by extractive"), "failed")
	check.Contains(t, "recap", r.finished(r.runAsManager("/recap")), "model calls are not allowed here for now")
	check.Len(t, "requests with a spent budget", worker.Requests(), n+1)
}

func TestContextShowsSpending(t *testing.T) {
	r := newRig(t, always(withBilledTokens(llmtest.Say("yes"), llm.Usage{Prompt: 100_000, Cached: 50_000, Completion: 1000})))
	check.Lacks(t, "answer before any spending", r.run("/context"), "today", "no price")
	r.ask("hello")
	r.wantAnswer("/context", "today     1 request, 100000 tokens in (50000 cached, 0 written), 1000 out: $0.00\n", `no price  for scripted: it counts as 0; set [prices."scripted"]`)
	// A change of the prices counts immediately, including for earlier usage.
	r.hub.Renew(access.Rules{Money: access.Money{Prices: prices.List{"scripted": {Rates: prices.Rates{Input: 2, Cached: 1, Output: 10}}}, PerMonth: 10}})
	shown := r.wantAnswer("/context", "in total  1 request, 100000 tokens in (50000 cached, 0 written), 1000 out: $0.16\n", "budget    $0.16 of $10.00 this month, in all conversations\n")
	check.Lacks(t, "answer with a price", shown, "no price")
}
