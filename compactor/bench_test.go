package compactor_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
	"cairn/store"
)

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

// past fills a conversation with n messages, nearly all of them summarized, like a bot that has run
// for long. The window is small and the messages are long, so that the stack has its usual size
// after a hundred of them.
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
				h.Begin(compactor.Context{Text: "time: now"})
				check.NoError(b, check.ErrorOf(r.c.Request(ctx)))
				h.Append(chat.Message{Seq: seq + 1, Turn: seq, Role: "assistant", Text: "It will rain.", Tokens: 9})
				r.c.Answered()
				r.c.Check(ctx)
				h.Truncate(first) // each turn starts from the same history
			}
		})
	}
}

// BenchmarkCheck measures a check between two turns: of a half-full window without prepared
// summaries, and of one that is three quarters full with most of it prepared. It must not grow with
// the window.
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
