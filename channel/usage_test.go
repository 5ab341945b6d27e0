package channel_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/prices"
	"cairn/store"
)

// withBilledTokens returns a model's answer with a server's token counts.
func withBilledTokens(resp llm.Response, prompt, cached, written, output int) llm.Response {
	resp.Usage = llm.Usage{Prompt: prompt, Cached: cached, Written: written, Completion: output}
	return resp
}

// priced charges 1 per input token: 1,000,000 per million.
var priced = prices.List{"scripted": {Input: 1e6, Cached: 1e5, Write: 2e6, Output: 0}, "worker": {Input: 1e6, Cached: 1e5, Write: 2e6}}

// usageRows returns the stored rows as "day kind model requests input cached written output".
func (r *rig) usageRows() (rows []string) {
	r.t.Helper()
	all := check.Must(r.store.Usage(r.t.Context(), ""))(r.t)
	for _, u := range all {
		rows = append(rows, fmt.Sprint(u.Day, " ", u.Kind, " ", u.Model, " ", u.Requests, " ", u.Input, " ", u.Cached, " ", u.Written, " ", u.Output))
	}
	return rows
}

// wantUsage fails unless there is one row, of today, with these numbers.
func (r *rig) wantUsage(t *testing.T, want string) {
	t.Helper()
	check.EqualAll(t, "rows", r.usageRows(), []string{store.Day(time.Now()) + " " + want})
}

// restartCounting restarts the bot as the program does: with the earlier usage.
func (r *rig) restartCounting() {
	r.t.Helper()
	used := check.Must(r.store.Usage(r.t.Context(), channel.MonthStart(time.Now())))(r.t)
	r.opts.Used = used
	r.restart()
}

// setTimeZone runs the test in a time zone.
func setTimeZone(t *testing.T, zone string) {
	t.Helper()
	there := check.Must(time.LoadLocation(zone))(t)
	before := time.Local
	time.Local = there
	t.Cleanup(func() { time.Local = before })
}

func TestUsageOfTurnsIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
			switch n {
			case 1:
				return withBilledTokens(llmtest.Use(llmtest.Call("c", "recall", map[string]string{"question": "tea"})), 100, 10, 5, 3), nil
			case 2: // billed, without an answer
				return withBilledTokens(llm.Response{}, 200, 0, 0, 1), &llm.Error{Kind: llm.KindTruncated, Message: "cut"}
			}
			return withBilledTokens(llmtest.Say("here"), 300, 100, 0, 4), nil
		})
		var counted []store.Usage
		r.stop()
		r.opts.Counted = func(u store.Usage) { counted = append(counted, u) }
		r.start()
		r.ask("where is the tea?")
		check.EqualAll(t, "rows", r.usageRows(), []string{"2000-01-01 turn scripted 3 600 110 5 8"})
		r.ask("and now?")
		check.EqualAll(t, "rows after another turn", r.usageRows(), []string{"2000-01-01 turn scripted 4 900 210 5 12"})
		var sum store.Usage
		for _, u := range counted {
			sum.AddAll(u)
		}
		if len(counted) != 4 || sum.Input != 900 || counted[0].Kind != store.ForTurn || counted[0].Model != "scripted" {
			t.Errorf("got counts %+v", counted)
		}
		r.restart()
		r.reopen()
		check.EqualAll(t, "rows after restarts", r.usageRows(), []string{"2000-01-01 turn scripted 4 900 210 5 12"})
		r.stop()
	})
}

func TestUsageOfTurnsWithoutAnAnswerIsStored(t *testing.T) {
	t.Run("a turn that fails", func(t *testing.T) {
		r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) {
			return withBilledTokens(llm.Response{}, 50, 0, 0, 1), &llm.Error{Kind: llm.KindBadRequest, Message: "no"}
		})
		r.ask("hello")
		r.wantUsage(t, "turn scripted 1 50 0 0 1")
	})
	t.Run("a turn whose question is deleted", func(t *testing.T) {
		var r *rig
		r = newRig(t, func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
			check.NoError(t, r.hub.Delete(ctx, place, "m1"))
			return withBilledTokens(llmtest.Say("late"), 70, 0, 0, 2), nil
		})
		r.ask("hello")
		r.wantUsage(t, "turn scripted 1 70 0 0 2")
	})
	t.Run("a turn interrupted by shutdown", func(t *testing.T) {
		asked := make(chan struct{})
		r := newRig(t, func(ctx context.Context, n int, _ llm.Request) (llm.Response, error) {
			if n == 1 {
				return withBilledTokens(llmtest.Use(llmtest.Call("c", "recall", map[string]string{"question": "tea"})), 90, 0, 0, 2), nil
			}
			close(asked)
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		})
		r.say("hello", true)
		<-asked
		r.stop()
		r.model.Func = echo
		r.start()
		r.wantUsage(t, "turn scripted 1 90 0 0 2")
	})
}

func TestConsultationUsageIsOfItsModel(t *testing.T) {
	r := newRig(t, echo)
	r.withCritic(func(context.Context, int, llm.Request) (llm.Response, error) {
		return withBilledTokens(llmtest.Say("too long"), 40, 0, 0, 2), nil
	})
	r.ask("@critic what do you think?")
	r.wantUsage(t, "turn critical 1 40 0 0 2")
}

// TestUsageOfSummariesIsStored: this includes recaps and failed requests, and needs no further
// turn.
func TestUsageOfSummariesIsStored(t *testing.T) {
	r := newRig(t, echo)
	r.model.Tokens = 6000
	var broken atomic.Bool
	worker := r.withWorker(func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		if broken.Load() {
			return withBilledTokens(llm.Response{}, 10, 0, 0, 1), &llm.Error{Kind: llm.KindTruncated, Message: "cut"}
		}
		return withBilledTokens(summary(fmt.Sprint("Summary ", n, " of what they said, word by word.")), 1000, 0, 500, 20), nil
	})
	worker.Tokens = 6000
	r.sendLongNotes(20)
	summaries := func(want ...int) {
		t.Helper()
		r.waitForReplies()
		row := strings.TrimSuffix(fmt.Sprintln(want[0], want[1], 0, want[2], want[3]), "\n")
		if rows := r.usageRows(); len(rows) != 2 || !strings.HasSuffix(rows[1], " summary worker "+row) {
			t.Errorf("got rows %q, want %s", rows, row)
		}
	}
	n := len(worker.Requests())
	check.Require(t, n != 0, "/context")
	summaries(n, 1000*n, 500*n, 20*n)
	shown := r.run("/context")
	check.Contains(t, "/context", shown, fmt.Sprintf("%d tokens in (0 cached, %d written), %d out: 0.00; they saved about ", 1000*n, 500*n, 20*n))
	check.Lacks(t, "/context", shown, "saved about 0 tokens")
	broken.Store(true)
	r.finished(r.runAsManager("/recap"))
	if len(worker.Requests()) != n+1 {
		t.Fatalf("got %d requests for a recap", len(worker.Requests())-n)
	}
	summaries(n+1, 1000*n+10, 500*n, 20*n+1)
}

func TestDaysEndInTheTimeZone(t *testing.T) {
	setTimeZone(t, "America/New_York")
	synctest.Test(t, func(t *testing.T) { // midnight in UTC, seven in the evening in New York
		r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) {
			return withBilledTokens(llmtest.Say("yes"), 10, 0, 0, 1), nil
		}).withRules(channel.Rules{Money: channel.Money{Prices: priced, PerDay: 20}})
		say := func() string { return r.ask("hello") }
		say()
		time.Sleep(4*time.Hour + 59*time.Minute)
		say()
		check.Contains(t, "answer a minute before midnight", say(), "The budget for today is used up", "ask again in a minute", "budget_per_day")
		time.Sleep(time.Minute)
		check.Equal(t, "answer after midnight", say(), "yes")
		check.EqualAll(t, "rows", r.usageRows(), []string{"1999-12-31 turn scripted 2 20 0 0 2", "2000-01-01 turn scripted 1 10 0 0 1"})
		r.stop()
	})
}

func TestContextShowsSpending(t *testing.T) {
	r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) {
		return withBilledTokens(llmtest.Say("yes"), 100_000, 50_000, 0, 1000), nil
	})
	check.Lacks(t, "answer before any spending", r.run("/context"), "today", "no price")
	r.ask("hello")
	r.wantAnswer("/context", "today     1 request, 100000 tokens in (50000 cached, 0 written), 1000 out: 0.00\n", `no price  for scripted: it counts as 0; set [prices."scripted"]`)
	// A change of the prices counts immediately, including for earlier usage.
	r.hub.Renew(channel.Rules{Money: channel.Money{Prices: prices.List{"scripted": {Input: 2, Cached: 1, Output: 10}}, PerMonth: 10}})
	r.wantAnswer("/context", "in all    1 request, 100000 tokens in (50000 cached, 0 written), 1000 out: 0.16\n", "budget    0.16 of 10.00 this month, in all conversations\n")
	check.Lacks(t, "answer with a price", r.run("/context"), "no price")
}

// TestUsageOfUnstoredReply: the usage is neither lost nor counted twice.
func TestUsageOfUnstoredReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		execute := func(statement string) {
			db, err := sql.Open("sqlite3", "file:"+store.File(r.dir)+"?_busy_timeout=5000")
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			check.NoError(t, check.ErrorOf(db.ExecContext(context.Background(), statement)))
		}
		r = newRig(t, func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
			if n == 1 {
				execute("CREATE TRIGGER refuse BEFORE INSERT ON outbox BEGIN SELECT RAISE (ABORT, 'no'); END")
			} else {
				execute("DROP TRIGGER refuse")
			}
			return withBilledTokens(llmtest.Say("yes"), 100, 0, 0, 1), nil
		})
		r.say("hello", true)
		r.connector.until(t, "the answer", func() bool { return len(r.connector.sent) == 2 })
		r.waitForReplies()
		sent := r.connector.texts()
		check.Contains(t, "sent", sent[0], "I cannot save my answer")
		check.Equal(t, "second piece sent", sent[1], "yes")
		check.EqualAll(t, "rows", r.usageRows(), []string{"2000-01-01 turn scripted 2 200 0 0 2"})
		r.stop()
	})
}
