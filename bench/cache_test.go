package main

import (
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/promptcache"
	"cairn/internal/tokens"
	"cairn/llm"
)

var cachedWords = strings.Repeat("what somebody said before. ", 100)

func spoken(role llm.Role, name string) llm.Message {
	return llm.Message{Role: role, Text: name + " " + cachedWords}
}

var (
	system, question = spoken(llm.RoleSystem, "system"), spoken(llm.RoleUser, "question")
	answer, next     = spoken(llm.RoleAssistant, "answer"), spoken(llm.RoleUser, "next")
	withNow          = llm.Message{Role: llm.RoleUser, Text: question.Text + "\n\n<now>it is nine</now>"}

	begins, beginsWithNow = []llm.Message{system, question}, []llm.Message{system, withNow}
	goesOn                = []llm.Message{system, question, answer, next}
	beginsOtherwise       = []llm.Message{spoken(llm.RoleSystem, "other"), question, answer}
)

// TestCacheRules prices requests that go on in ways that the rules tell apart.
func TestCacheRules(t *testing.T) {
	each := tokens.Estimate(cachedWords) // of a message, about
	for _, c := range []struct {
		claim, rule               string
		first, second             []llm.Message
		pause                     time.Duration
		cached, written, uncached int // messages of the second request
	}{
		{"an extension is read up to the end of the request before", llm.CacheBreakpoints, begins, goesOn, time.Minute, 2, 2, 0},
		{"of a last message that has changed only the head is read", llm.CacheBreakpoints, beginsWithNow, goesOn, time.Minute, 1, 3, 0},
		{"nothing is read where the head has changed", llm.CacheBreakpoints, begins, beginsOtherwise, time.Minute, 0, 3, 0},
		{"nothing is read when the time is up", llm.CacheBreakpoints, begins, goesOn, cacheTTL, 0, 4, 0},
		{"an extension is read with the answer", llm.CacheUnits, begins, goesOn, time.Minute, 3, 0, 1},
		{"a part of the request before is not read", llm.CacheUnits, beginsWithNow, goesOn, time.Minute, 0, 0, 4},
		{"nothing is read when the time is up", llm.CacheUnits, begins, goesOn, cacheTTL, 0, 0, 4},
		{"the last message is read as far as it is the same", llm.CachePrefix, beginsWithNow, goesOn, time.Minute, 2, 0, 2},
		{"nothing is read when the time is up", llm.CachePrefix, begins, goesOn, cacheTTL, 0, 0, 4},
		{"nothing is read of a request that begins otherwise", llm.CachePrefix, begins, beginsOtherwise, time.Minute, 0, 0, 3},
	} {
		clock := &clock{t: time.Unix(0, 0).Add(24 * time.Hour)}
		till := newMeter(clock, promptcache.Rule{Kind: c.rule, TTL: cacheTTL})
		till.charge(llm.Request{Messages: c.first, Head: 1}, "")
		before := till.bill
		clock.pass(c.pause)
		till.charge(llm.Request{Messages: c.second, Head: 1}, "")
		got := [3]int{till.bill.Cached - before.Cached, till.bill.Written - before.Written, till.bill.Uncached - before.Uncached}
		for i, messages := range []int{c.cached, c.written, c.uncached} {
			off := got[i] - messages*each
			check.That(t, -60 <= off && off <= 60, "%s: %s: read, written and neither are %d tokens; want %d, %d and %d messages of %d", c.rule, c.claim, got, c.cached, c.written, c.uncached, each)
		}
	}
	// A token read counts a tenth, one written to the cache one and a quarter, one of an answer four.
	b := bill{Uncached: 100, Cached: 1000, Written: 1000, Output: 10}
	check.Equal(t, "input", b.input(), 1450)
	check.Equal(t, "output", b.output(), 40)
	// A request that begins otherwise is a rewrite, one that goes on is none.
	till := newMeter(&clock{t: time.Unix(0, 0).Add(24 * time.Hour)}, promptcache.Rule{Kind: llm.CachePrefix, TTL: cacheTTL})
	for i, messages := range [][]llm.Message{begins, {system, question, answer}, {next, system, question}} {
		till.charge(llm.Request{Messages: messages}, "yes")
		check.Equal(t, "rewrites", till.bill.Rewrites, []int{1, 1, 2}[i])
	}
}

// The real engine's requests are priced, so that a layout in which each request extends
// the one before is seen to be cheaper.
func TestBreakpointsPriceTheEnginesRequests(t *testing.T) {
	check.SkipUnderRace(t)
	rule := promptcache.Rule{Kind: llm.CacheBreakpoints, TTL: cacheTTL}
	turns := talk(15, 0.7, false)
	requests, _ := measure(turns)
	for i, with := range contenders(check.Must(toolsOf(t.Context()))(t), rule) {
		if i == 0 || with.name == "sliding window" {
			r := check.Must(with.price(t.Context(), turns, rule, func() {}))(t).Turns
			check.That(t, r.Requests == requests && r.Written > 0 && r.Cached > 0 && r.Uncached == 0, "%s: %+v of %d requests", with.name, r, requests)
		}
	}
}
