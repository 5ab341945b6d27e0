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
func fullWindow() *Compactor {
	c := new(Compactor)
	c.view = newView(transcript.Snapshot{Next: 1}, DefaultPolicy().shape(128_000))
	for c.view.Cost() < 128_000 {
		for range 3 {
			appendOne(c, llm.RoleUser, strings.Repeat("word ", 25))
		}
		appendOne(c, llm.RoleUser, strings.Repeat("word ", 40))
		appendOne(c, llm.RoleAssistant, strings.Repeat("word ", 200))
	}
	return c
}

func appendOne(c *Compactor, role llm.Role, text string) {
	seq := c.view.Next
	m := chat.Message{Seq: seq, Turn: seq, Role: role, ID: fmt.Sprint("m", seq), Author: "Ada", Text: text, Time: time.Unix(seq*60, 0)}
	m.Tokens = chat.TokensOf(m)
	c.Add(m)
}

// BenchmarkRenderFull renders a full window of 128 000 tokens anew, like the first request after a
// start or an applied compaction.
func BenchmarkRenderFull(b *testing.B) {
	c := fullWindow()
	b.ReportAllocs()
	for b.Loop() {
		new(transcript.Rendering).Next("be kind", c.view.View)
	}
	b.ReportMetric(float64(len(c.view.Messages)), "messages")
}

// BenchmarkRenderNextTurn renders the first request of a turn: an answer, a question and a context were added.
func BenchmarkRenderNextTurn(b *testing.B) {
	c := fullWindow()
	full := c.view.Next
	var r transcript.Rendering
	r.Next("be kind", c.view.View)
	b.ReportAllocs()
	for b.Loop() {
		if c.view.Next > full+200 { // keep the window at its size
			b.StopTimer()
			c = fullWindow()
			r.Next("be kind", c.view.View)
			b.StartTimer()
		}
		appendOne(c, llm.RoleAssistant, "It will rain.")
		c.TurnContext() // stored with the answer
		c.EndTurn()
		appendOne(c, llm.RoleUser, "and what about tomorrow?")
		c.BeginTurn(Context{Text: "time: now"}, AnyVersion)
		r.Next("be kind", c.view.View)
	}
}
