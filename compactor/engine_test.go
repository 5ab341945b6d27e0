package compactor_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/bits"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/compactor/worker"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// In a conversation of any length a message is summarized again only as often as the stack is deep, which grows with the
// logarithm of the summarized messages. Healthy work logs one line per applied compaction, and no more.
func TestBackgroundSummarizesOldest(t *testing.T) {
	t.Parallel()
	var log journal
	r := newRig(t, 4000, wordyWorker(filler(90)), func(o *compactor.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	})
	leaves := 0
	for i := range 300 {
		r.deliverNotes(fmt.Sprintf("On day %d Ada saw %d birds near River%d. %s", i, i*7, i, filler(40)))
		r.waitIdle()
		g := r.c.Status()
		check.Require(t, g.Used <= g.Window*80/100+100, "after message %d: %d of %d tokens used", i+1, g.Used, g.Window)
		leaves = len(r.which(func(e compactor.Event) bool { return e.State == compactor.EventApplied && e.Kind == compactor.Leaf }))
		cost := 0
		for _, row := range g.Stack {
			cost += row.Cost()
			check.Require(t, row.Level <= 3+bits.Len(uint(leaves)), "after %d summaries: row %d has level %d", leaves, row.ID, row.Level)
		}
		check.Require(t, cost <= 4000*15/100, "after %d messages: got a stack of %d tokens", i+1, cost)
	}
	check.That(t, leaves >= 12, "got only %d summaries", leaves)
	larger := r.which(func(e compactor.Event) bool {
		return e.State == compactor.EventApplied && e.Trigger == compactor.OnBackground && e.AfterTokens >= e.BeforeTokens
	})
	check.Len(t, "summaries that freed nothing", larger, 0)
	applied := r.seen(compactor.EventApplied)
	check.Contains(t, "view", r.render(), "[Compaction Summary] messages #1 to #")
	check.Equal(t, "lines in the log", strings.Count(log.String(), "\n"), applied)
	check.Equal(t, "lines about what was applied", strings.Count(log.String(), "level=INFO msg=compaction_applied "), applied)
}

func TestFailedWorkerChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		answer   llm.Response
		err      error
		declines bool // the extractive summarizer takes over the span after the number of attempts in the policy
	}{
		"overloaded":     {err: &llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "overloaded"}},
		"another error":  {err: errWorker},
		"panic":          {},
		"empty":          {answer: llmtest.Say("  \n"), declines: true},
		"tools for ever": {answer: llmtest.Use(llmtest.Call("x", "memory_save", map[string]any{})), declines: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 8000, &llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) {
				if name == "panic" {
					panic("worker")
				}
				return c.answer, c.err
			}})
			r.notesUntil(100, func() bool { r.waitIdle(); return r.seen(compactor.EventFailed) > 0 })
			check.Contains(t, "error", r.last(compactor.EventFailed).Error, "nothing was lost")
			g := r.c.Status()
			if c.declines {
				check.Equal(t, "failures", r.seen(compactor.EventFailed), r.policy.FailureLimit)
				check.That(t, len(g.Stack) > 0 && g.Stack[0].By == compactor.ByExtractive && g.Stack[0].Kind == compactor.Leaf, "got %+v", g.Stack)
				return
			}
			check.Equal(t, "failures", r.seen(compactor.EventFailed), 1)
			check.Equal(t, "other rows", r.count("SELECT count(*) FROM compactions WHERE state <> 'failed'"), 0)
			check.Len(t, "stack", g.Stack, 0)
			check.Equal(t, "messages in the view", g.Lines, len(r.messages))
			check.That(t, g.Paused != "" && g.Failed.State == compactor.EventFailed, "the status does not say that it waits, or why: %+v", g)
			calls := len(r.worker.Requests())
			r.deliverNotes("one more")
			r.waitIdle()
			check.Len(t, "worker calls", r.worker.Requests(), calls)
		})
	}
}

func TestEachStrategyKeepsTheWindow(t *testing.T) {
	for _, name := range []string{worker.StrategyWorker, worker.StrategyExtractive, worker.StrategyWindow} {
		r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
		r.policy.Strategy = name
		r.policy.ExtractMemories = true
		r.talk("My name is Ada and I live in Bergen.")
		for range 3 {
			r.deliverMany(8, 20)
			r.applied()
		}
		check.Equal(t, name+" asks the model", len(r.worker.Requests()) > 0, name == worker.StrategyWorker)
		check.Equal(t, name+" only truncates", strings.Contains(r.head(), "have left the window here, without a summary"), name == worker.StrategyWindow)
		r.waitIdle()
		check.Len(t, name+": rows that await a model", r.rows(func(row compactor.Summary) bool {
			return row.AwaitsModel || name == worker.StrategyWorker && row.NeedsRepair()
		}), 0)
		r.renderAfterRestart()
	}
}

func waitingFor(release <-chan struct{}, answer func(context.Context, int, llm.Request) (llm.Response, error)) *llmtest.Model {
	return &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		select {
		case <-release:
			return answer(ctx, n, req)
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
	}}
}

func TestUselessEmergencyIsReportedOnce(t *testing.T) {
	var log journal
	r := newRig(t, 2000, &llmtest.Model{Func: goodSummary}, func(o *compactor.Options) {
		o.Log = log.logger()
		o.Tools = []llm.Tool{{Name: "look", Description: filler(2500), Parameters: []byte("{}")}}
	})
	r.deliverNotes("hello")
	for range 20 {
		r.c.Check(t.Context())
		check.ErrorContains(t, "a request that cannot fit", check.ErrorOf(r.c.Request(t.Context())), "of 2000 tokens")
	}
	check.Len(t, "events", r.events, 0)
	check.Len(t, "calls of the model", r.worker.Requests(), 0)
	check.Equal(t, "log", strings.Count(log.String(), "request_too_large"), 1)
}

func TestWorkerOverflowHalvesSpan(t *testing.T) {
	const takes = 1500 // tokens, though it says 100 000
	overflows := 0
	var read strings.Builder
	r := newRig(t, 100_000, &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if tokens.Estimate(req.Messages[1].Text) > takes {
			overflows++
			return llm.Response{}, &llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "too long"}
		}
		read.WriteString(req.Messages[1].Text)
		return goodSummary(ctx, n, req)
	}})
	r.chat(100)
	e := r.compact("")
	check.Require(t, e.State == compactor.EventApplied && e.From == 1 && e.Messages == 96, "got %+v", e)
	for i := range 96 {
		check.Contains(t, "the material", read.String(), fmt.Sprintf("note-%d ", i))
	}
	check.That(t, overflows > 0 && overflows <= 10, "got %d overflows", overflows)
	check.Equal(t, "applied compactions", r.seen(compactor.EventApplied), 1)
}

// Many conversations compact at once: at most as many call a model as the semaphore has places,
// each about its own messages; a failing worker releases its place.
func TestWorkersShareOnlyTheSemaphore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const places = 2
		slots := make(chan struct{}, places)
		var mu sync.Mutex // guards at and most
		at := 0
		most := 0
		enter := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			at += n
			most = max(most, at)
		}
		var rigs []*rig
		for i := range 6 {
			name := fmt.Sprintf("room%d", i)
			worker := &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
				enter(1)
				defer enter(-1)
				time.Sleep(time.Second) // meanwhile all others start that can
				for j := range 6 {
					check.Equal(t, fmt.Sprintf("the worker of %s reads room %d", name, j), strings.Contains(req.Messages[1].Text, fmt.Sprintf("room%d", j)), j == i)
				}
				if i == 0 {
					panic("worker")
				}
				return goodSummary(ctx, n, req)
			}}
			r := newRig(t, 100_000, worker, func(o *compactor.Options) { o.Slots = slots })
			for range 30 {
				r.deliverNotes(name + " " + filler(30))
			}
			rigs = append(rigs, r)
		}
		for range 3 {
			for _, r := range rigs {
				r.c.Compact(compactor.OnManual, "")
			}
		}
		for i, r := range rigs {
			r.waitIdle()
			check.Equal(t, fmt.Sprintf("room %d", i), r.seen(compactor.EventApplied), min(i, 1))
		}
		check.Equal(t, "concurrent workers", most, places)
		check.Equal(t, "places taken at the end", len(slots), 0)
	})
}

func importInto(b *testing.B, to *store.Conversation, c *owner, n int, text func(seq int64) string) {
	b.Helper()
	batch := make([]store.Inbound, n)
	for i := range batch {
		seq := c.History().Next() + int64(i)
		batch[i] = store.Inbound{ID: fmt.Sprint("m", seq), AuthorID: "u", Author: "Ada", Time: time.Unix(seq, 0), Text: text(seq)}
	}
	c.History().Append(check.Must(to.Past().Import(context.Background(), batch))(b)...)
	c.History().Stored()
}

// past fills a conversation with n messages, nearly all of them summarized, like a bot that has run for long. The window is
// small and the messages are long, so that the stack has its usual size after a hundred of them.
func past(b *testing.B, n int) *rig {
	b.Helper()
	r := newRig(b, 4_000, wordyWorker(filler(150)))
	for done := 0; done < n; done += 20 {
		importInto(b, r.conv, r.c, min(20, n-done), func(seq int64) string { return fmt.Sprintf("message %d about %s", seq, filler(80)) })
		r.waitIdle()
	}
	r.compactAndWait()
	return r
}

// BenchmarkTurn measures a turn's bookkeeping in memory with this many summarized messages: append
// a question, check, render the request, append the answer. It must not grow with the conversation.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprint("messages=", n), func(b *testing.B) {
			r := past(b, n)
			ctx := context.Background()
			h := r.c.History()
			first := h.Next()
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				seq := h.Next()
				h.Append(chat.Message{Seq: seq, Turn: seq, Role: "user", Author: "Ada", Text: "and what about tomorrow?", Addressed: true, Tokens: 24})
				h.Begin(compactor.Context{Text: "time: now"}, compactor.AnyVersion)
				check.NoError(b, check.ErrorOf(r.c.Request(ctx)))
				h.Append(chat.Message{Seq: seq + 1, Turn: seq, Role: "assistant", Text: "It will rain.", Tokens: 9})
				r.c.Answered()
				r.c.Check(ctx)
				h.Truncate(first) // each turn starts from the same history
			}
		})
	}
}

// BenchmarkCheck measures a check between two turns: of a half-full window without prepared summaries, and of one that is
// three quarters full with most of it prepared. It must not grow with the window.
func BenchmarkCheck(b *testing.B) {
	for _, window := range []int{32_000, 128_000, 1_000_000} {
		r := newRig(b, window, &llmtest.Model{Tokens: window, Func: goodSummary})
		r.policy.PrepareThreshold = -1
		ctx := context.Background()
		fill := func(share int) {
			for r.c.Status().Used < window*share/100 {
				importInto(b, r.conv, r.c, window/1000, func(int64) string { return "a short message among people" })
				r.c.Speak()
				r.waitIdle()
			}
		}
		for _, share := range []int{50, 76} {
			b.Run(fmt.Sprintf("window=%d/full=%d%%", window, share), func(b *testing.B) {
				fill(share)
				g := r.c.Status()
				b.ReportAllocs()
				for b.Loop() {
					r.c.Check(ctx)
				}
				b.ReportMetric(float64(len(g.Prepared)), "prepared")
				b.ReportMetric(float64(g.Lines), "messages")
			})
		}
	}
}
