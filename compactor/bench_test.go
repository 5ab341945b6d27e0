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

// imported adds n messages to a rig, and waits for the work they cause.
func (r *rig) imported(n int, text string) {
	batch := make([]store.Inbound, n)
	for i := range batch {
		seq := r.c.History().Next() + int64(i)
		batch[i] = store.Inbound{ID: fmt.Sprint("m", seq), AuthorID: "u", Author: "Ada", Time: time.Unix(seq, 0), Text: text}
	}
	r.c.History().Append(check.Must(r.conv.Past().Import(context.Background(), batch))(r.t)...)
	r.c.History().Stored()
	r.waitIdle()
}

// past fills a conversation with n messages, nearly all of them summarized, like a bot that has run
// for long. The window is small and the messages are long, so that the stack has its usual size
// after a hundred of them.
func past(b *testing.B, n int) *rig {
	b.Helper()
	r := newRig(b, 4_000, wordyWorker(filler(150)))
	for range n / 20 {
		r.imported(20, "a message about "+filler(80))
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
				check.NoError(b, check.ErrorOf(r.c.Prompt(ctx)))
				h.Append(chat.Message{Seq: seq + 1, Turn: seq, Role: "assistant", Text: "It will rain.", Tokens: 9})
				r.c.Answered()
				r.c.Check(ctx)
				h.Truncate(first) // each turn starts from the same history
			}
		})
	}
}

// BenchmarkOpen measures how long a conversation takes to open.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprint("messages=", n), func(b *testing.B) {
			r := past(b, n)
			for b.Loop() {
				r.close()
				r.open()
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
		for _, share := range []int{50, 76} {
			b.Run(fmt.Sprintf("window=%d/full=%d%%", window, share), func(b *testing.B) {
				for r.c.Status().Used < window*share/100 {
					r.imported(window/1000, "a short message among people")
				}
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
