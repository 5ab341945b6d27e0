package compactor_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/prompts"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func TestPlaceholderIsFilledWhileModelHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		r := newRig(t, 4000, waitingFor(open, goodSummary))
		started := time.Now()
		for i := 0; r.emergencies() == 0 && i < 100; i++ {
			r.deliverNotes(fmt.Sprintf("note %d: the harbour of Bergen opens at %d. %s", i, i, filler(60)))
			check.Require(t, r.share() < 0.95, "message %d: %.2f of the window used", i+1, r.share())
		}
		synctest.Wait() // all work but the model's is done
		check.Require(t, r.emergencies() != 0 && r.c.Busy(), "the model does not hang in an emergency: the test proves nothing")
		check.Require(t, len(r.c.Status().Stack) != 0, "got no placeholder for the hidden messages")
		check.Len(t, "rows that are not the extractive summarizer's", r.rows(func(row compactor.Summary) bool {
			return row.Kind == compactor.Placeholder || row.By != compactor.ByExtractive
		}), 0)
		check.That(t, time.Since(started) < time.Second, "it took %v", time.Since(started))
		r.verify()
		close(open)
		r.waitIdle()
		r.repaired()
	})
}

func (r *rig) emergencies() int {
	return len(r.which(func(e compactor.Event) bool {
		return e.State == compactor.EventApplied && e.Trigger == compactor.OnEmergency
	}))
}

// Failed summaries are repaired when the model is back, even without new messages.
func TestRepairRunsWithoutMessages(t *testing.T) {
	for name, wait := range map[string]func(r *rig){
		"by itself":     func(*rig) { time.Sleep(2 * time.Hour) },
		"after a start": func(r *rig) { r.restart(); r.c.Check(context.Background()) },
	} {
		onClock(t, name, func(t *testing.T) {
			var down atomic.Bool
			down.Store(true)
			r := newRig(t, 4000, &llmtest.Model{Func: failing(func(int) bool { return down.Load() })})
			for i := range 60 {
				r.talk(fmt.Sprintf("question %d %s", i, filler(60)))
				r.waitIdle()
				time.Sleep(10 * time.Second)
			}
			check.Require(t, len(r.rows(compactor.Summary.NeedsRepair)) > 0, "got nothing to repair")
			down.Store(false)
			wait(r)
			synctest.Wait()
			r.repaired()
		})
	}
}

// The end of the program waits neither for a worker nor for a repair.
func TestCloseCancelsWorker(t *testing.T) {
	for trigger, end := range map[compactor.Trigger]func(r *rig){
		compactor.OnBackground: func(r *rig) { r.restart() },
		compactor.OnRepair:     func(r *rig) { check.NoError(r.t, r.c.Drain(r.t.Context())) },
	} {
		onClock(t, string(trigger), func(t *testing.T) {
			r := newRig(t, 8000, waitingFor(nil, goodSummary))
			r.policy.Enabled = trigger != compactor.OnRepair
			r.notesUntil(60, func() bool { synctest.Wait(); return r.c.Status().Running != nil })
			check.Equal(t, "running", r.c.Status().Running.Trigger, trigger)
			started := time.Now()
			end(r)
			check.Equal(t, "the wait", time.Since(started), 0)
			if trigger == compactor.OnBackground {
				check.Equal(t, "verbatim messages after the restart", r.c.Status().Lines, len(r.messages))
			}
			r.noPlaceholder()
		})
	}
}

var about = regexp.MustCompile(`about (\d+) tokens`)

// A repair requests a summary as long as its span warrants, like any other job.
func TestRepairLengthFollowsSpan(t *testing.T) {
	for _, worker := range []*llmtest.Model{{Func: goodSummary}, nil} {
		r := newRig(t, 100_000, worker)
		r.hearNotes(20)
		span := tokensIn(r.messages)
		r.startSession() // all of it is behind a placeholder, which is repaired
		r.waitIdle()
		rows := r.c.Status().Past.Earlier[0].Rows
		check.Require(t, len(rows) == 1 && rows[0].Kind == compactor.Leaf, "got earlier session %+v", rows)
		want := span * 20 / 100
		if worker == nil { // the transcript has labels, and the summary a line above it
			check.That(t, rows[0].Tokens <= want*3/2+60, "summary of %d tokens: got %d", span, rows[0].Tokens)
			continue
		}
		for _, req := range worker.Requests() {
			got := check.Must(strconv.Atoi(about.FindStringSubmatch(req.Messages[1].Text)[1]))(t)
			check.That(t, got >= want && got <= want*3/2, "span of %d tokens: got a request for %d, want about %d", span, got, want)
		}
	}
}

// Without a model the stack is nearly full at every moment, and shares its room evenly among the parts of the conversation.
func TestExtractiveStackIsFullAndEven(t *testing.T) {
	slow(t)
	r := newRig(t, 8000, nil)
	budget := 8000 * 15 / 100
	full := 0
	looks := 0
	for i := range 300 {
		r.deliverNotes(fmt.Sprintf("On day %d Ada saw %d birds near River%d, and Paul sold boat %d to Marta%d.", i, i*7, i, i%97, i))
		r.waitIdle()
		stack := r.c.Status().Stack
		if len(stack) == 0 || stack[len(stack)-1].To < 180 {
			continue // it grows still
		}
		cost := 0
		hidden := 0
		most := 0
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
}

// A model's summary survives any number of extractive folds while nobody speaks to the bot. A fold
// by the model keeps it too.
func TestModelSummariesOutliveExtractiveRollups(t *testing.T) {
	slow(t)
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
	made := func() int {
		return len(r.rows(func(row compactor.Summary) bool { return row.By == compactor.ByWorker }))
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
	told := slices.Compact(slices.Sorted(slices.Values(vault.FindAllString(r.head(), -1))))
	check.That(t, len(told) >= 3, "got part of the model's text lost: %v\nstack: %+v", told, r.c.Status().Stack)
}
