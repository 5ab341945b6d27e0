package main

import (
	"strings"
	"testing"
	"time"

	"cairn/compactor"
	"cairn/llm"
)

func TestPrice(t *testing.T) {
	ask := func(texts ...string) llm.Request {
		var req llm.Request
		for _, text := range texts {
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Text: text})
		}
		return req
	}
	old, fresh := strings.Repeat("what was said before. ", 100), strings.Repeat("and what is new! ", 40)
	c := &clock{t: time.Unix(0, 0).Add(24 * time.Hour)}
	meet := func(pause time.Duration, second llm.Request) bill {
		till := newTill(c, byPrefix)
		till.charge(ask(old), "yes")
		first := till.bill
		c.pass(pause)
		till.charge(second, "yes")
		b := till.bill
		b.Uncached, b.Cached, b.Output, b.Rewrites = b.Uncached-first.Uncached, b.Cached-first.Cached, b.Output-first.Output, b.Rewrites-first.Rewrites
		return b
	}
	near := func(t *testing.T, what string, got, want int) {
		t.Helper()
		if got < want-4 || got > want+4 {
			t.Errorf("%s: %d tokens, want about %d", what, got, want)
		}
	}
	oldTokens, freshTokens := compactor.Estimate(flat(ask(old))), compactor.Estimate(flat(ask(fresh)))

	t.Run("what a request begins with like the one before is cached", func(t *testing.T) {
		b := meet(4*time.Minute, ask(old, fresh))
		near(t, "cached", b.Cached, oldTokens)
		near(t, "uncached", b.Uncached, freshTokens)
		near(t, "output", b.Output, 1)
		if b.Rewrites != 0 {
			t.Errorf("%d rewrites of a request that went on", b.Rewrites)
		}
	})
	t.Run("nothing is cached after five minutes", func(t *testing.T) {
		b := meet(5*time.Minute, ask(old, fresh))
		near(t, "cached", b.Cached, 0)
		near(t, "uncached", b.Uncached, oldTokens+freshTokens)
	})
	t.Run("nothing is cached of a request that begins otherwise", func(t *testing.T) {
		b := meet(time.Minute, ask(fresh, old))
		near(t, "cached", b.Cached, 2)
		near(t, "uncached", b.Uncached, oldTokens+freshTokens-2)
		if b.Rewrites != 1 {
			t.Errorf("%d rewrites, want 1", b.Rewrites)
		}
	})
	t.Run("a cached token counts a tenth, a written one four", func(t *testing.T) {
		b := bill{Uncached: 1000, Cached: 1000, Output: 10}
		if b.input() != 1100 || b.output() != 40 {
			t.Errorf("input %v, output %v", b.input(), b.output())
		}
	})
}
