package compactor_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"cairn/compactor"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// BenchmarkThousandConversations measures one compaction in each of a thousand conversations, all
// due at the same time, on one real file and with as many concurrent workers as a bot has.
// slowest-check-ns is the longest time that a check took meanwhile.
func BenchmarkThousandConversations(b *testing.B) {
	const conversations = 1000
	ctx := context.Background()
	r := newRig(b, 4_000, &llmtest.Model{Func: goodSummary})
	slots := make(chan struct{}, 4)
	all := make([]*owner, conversations)
	records := make([]*store.Conversation, conversations)
	for i := range all {
		var err error
		records[i], err = r.store.Conversation(ctx, fmt.Sprint("terminal:many", i))
		if err != nil {
			b.Fatal(err)
		}
		all[i] = openOwner(b, compactor.Options{
			Records: memory.Of(records[i]).Records(), Policy: compactor.DefaultPolicy, Window: func() int { return 4_000 },
			MaxOutput: 100, Worker: r.worker, Slots: slots, Log: slog.New(slog.DiscardHandler),
		})
		defer all[i].Close()
	}
	var slowest time.Duration
	applied := 0
	for b.Loop() {
		b.StopTimer()
		for i, c := range all {
			for g := c.Status(); g.Used < g.Window*81/100; g = c.Status() {
				importInto(b, records[i], c, 10, func(int64) string { return filler(100) })
			}
		}
		b.StartTimer()
		for _, c := range all {
			start := time.Now()
			c.Check(ctx)
			slowest = max(slowest, time.Since(start))
		}
		for _, c := range all {
			check.NoError(b, c.Wait(ctx))
		}
		b.StopTimer()
		for _, c := range all {
			if g := c.Status(); len(g.Stack) > 0 && g.Used < g.Window*80/100 {
				applied++
			}
		}
		b.StartTimer()
	}
	check.Require(b, applied == b.N*conversations, "%d of %d compactions applied", applied, b.N*conversations)
	b.ReportMetric(float64(slowest), "slowest-check-ns")
	b.ReportMetric(float64(applied)/b.Elapsed().Seconds(), "compactions/s")
}
