package compactor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/transcript"
)

// fullWindow returns the history of a busy channel that fills a window of 128 000 tokens: three
// unaddressed messages for each one that the bot answers.
func fullWindow() *History {
	h := newHistory(transcript.Snapshot{Next: 1}, DefaultPolicy().shape(128_000))
	for h.view.Cost() < 128_000 {
		for range 3 {
			appendOne(h, llm.RoleUser, strings.Repeat("word ", 25))
		}
		appendOne(h, llm.RoleUser, strings.Repeat("word ", 40))
		appendOne(h, llm.RoleAssistant, strings.Repeat("word ", 200))
	}
	return h
}

func appendOne(h *History, role llm.Role, text string) {
	seq := h.Next()
	m := chat.Message{Seq: seq, Turn: seq, Role: role, ID: fmt.Sprint("m", seq), Author: "Ada", Text: text, Time: time.Unix(seq*60, 0)}
	m.Tokens = chat.TokensOf(m)
	h.Append(m)
}

// BenchmarkRenderFull renders a full window of 128 000 tokens anew, like the first request after a
// start or an applied compaction.
func BenchmarkRenderFull(b *testing.B) {
	h := fullWindow()
	b.ReportAllocs()
	for b.Loop() {
		h.view.Render("be kind")
	}
	b.ReportMetric(float64(len(h.view.Messages)), "messages")
}

// BenchmarkRenderNextTurn renders the first request of a turn: an answer, a question and a context were added.
func BenchmarkRenderNextTurn(b *testing.B) {
	h := fullWindow()
	full := h.Next()
	var r transcript.Rendering
	r.Next("be kind", h.view.View)
	b.ReportAllocs()
	for b.Loop() {
		if h.Next() > full+200 { // keep the window at its size
			b.StopTimer()
			h = fullWindow()
			r.Next("be kind", h.view.View)
			b.StartTimer()
		}
		appendOne(h, llm.RoleAssistant, "It will rain.")
		h.Context() // stored with the answer
		h.Answered()
		appendOne(h, llm.RoleUser, "and what about tomorrow?")
		h.Begin(Context{Text: "time: now"}, AnyVersion)
		r.Next("be kind", h.view.View)
	}
}
