package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/promptcache"
	"cairn/internal/tokens"
	"cairn/llm"
)

// cacheCase is what a second request reads and writes, in messages.
type cacheCase struct {
	rule                      string
	first, second             []llm.Message
	pause                     time.Duration
	cached, written, uncached int // messages of the second request
}

var cachedWords = strings.Repeat("what somebody said before. ", 100)

func spoken(role llm.Role, name string) llm.Message {
	return llm.Message{Role: role, Text: name + " " + cachedWords}
}

var (
	system, question = spoken(llm.RoleSystem, "system"), spoken(llm.RoleUser, "question")
	answer, next     = spoken(llm.RoleAssistant, "answer"), spoken(llm.RoleUser, "next")
	withNow          = llm.Message{Role: llm.RoleUser, Text: question.Text + "\n\n<now>it is nine</now>"}
)

var cacheCases = map[string]cacheCase{
	"breakpoints: an extension is read up to the end of the request before": {
		llm.CacheBreakpoints,
		[]llm.Message{system, question},
		[]llm.Message{system, question, answer, next},
		time.Minute, 2, 2, 0,
	},
	"breakpoints: of a last message that has changed only the head is read": {
		llm.CacheBreakpoints,
		[]llm.Message{system, withNow},
		[]llm.Message{system, question, answer, next},
		time.Minute, 1, 3, 0,
	},
	"breakpoints: nothing is read where the head has changed": {
		llm.CacheBreakpoints,
		[]llm.Message{system, question},
		[]llm.Message{spoken(llm.RoleSystem, "other"), question, answer},
		time.Minute, 0, 3, 0,
	},
	"breakpoints: nothing is read when the time is up": {
		llm.CacheBreakpoints,
		[]llm.Message{system, question},
		[]llm.Message{system, question, answer, next},
		cacheTTL, 0, 4, 0,
	},
	"units: an extension is read with the answer": {
		llm.CacheUnits,
		[]llm.Message{system, question},
		[]llm.Message{system, question, answer, next},
		time.Minute, 3, 0, 1,
	},
	"units: a part of the request before is not read": {
		llm.CacheUnits,
		[]llm.Message{system, withNow},
		[]llm.Message{system, question, answer, next},
		time.Minute, 0, 0, 4,
	},
	"units: nothing is read when the time is up": {
		llm.CacheUnits,
		[]llm.Message{system, question},
		[]llm.Message{system, question, answer, next},
		cacheTTL, 0, 0, 4,
	},
	"prefix: the last message is read as far as it is the same": {
		llm.CachePrefix,
		[]llm.Message{system, withNow},
		[]llm.Message{system, question, answer, next},
		time.Minute, 2, 0, 2,
	},
	"prefix: nothing is read when the time is up": {
		llm.CachePrefix,
		[]llm.Message{system, question},
		[]llm.Message{system, question, answer, next},
		cacheTTL, 0, 0, 4,
	},
	"prefix: nothing is read of a request that begins otherwise": {
		llm.CachePrefix,
		[]llm.Message{system, question},
		[]llm.Message{spoken(llm.RoleSystem, "other"), question, answer},
		time.Minute, 0, 0, 3,
	},
}

// TestCacheRules prices requests that go on in ways that the rules tell apart.
func TestCacheRules(t *testing.T) {
	each := tokens.Estimate(cachedWords) // of a message, about
	for name, c := range cacheCases {
		t.Run(name, func(t *testing.T) {
			clock := &clock{t: time.Unix(0, 0).Add(24 * time.Hour)}
			till := newMeter(clock, promptcache.Rule{Kind: c.rule, TTL: cacheTTL})
			till.charge(llm.Request{Messages: c.first, Head: 1}, "")
			before := till.bill
			clock.pass(c.pause)
			till.charge(llm.Request{Messages: c.second, Head: 1}, "")
			got := [3]int{till.bill.Cached - before.Cached, till.bill.Written - before.Written, till.bill.Uncached - before.Uncached}
			for i, messages := range []int{c.cached, c.written, c.uncached} {
				if off := got[i] - messages*each; off < -60 || off > 60 {
					t.Errorf("read, written and neither are %d tokens; want %d, %d and %d messages of %d", got, c.cached, c.written, c.uncached, each)
				}
			}
		})
	}
	t.Run("a token read counts a tenth, one written to the cache one and a quarter, one of an answer four", func(t *testing.T) {
		if b := (bill{Uncached: 100, Cached: 1000, Written: 1000, Output: 10}); b.input() != 1450 || b.output() != 40 {
			t.Errorf("input %v, output %v", b.input(), b.output())
		}
	})
	t.Run("a request that begins otherwise is a rewrite, one that goes on is none", func(t *testing.T) {
		till := newMeter(&clock{t: time.Unix(0, 0).Add(24 * time.Hour)}, promptcache.Rule{Kind: llm.CachePrefix, TTL: cacheTTL})
		for i, messages := range [][]llm.Message{{system, question}, {system, question, answer}, {next, system, question}} {
			till.charge(llm.Request{Messages: messages}, "yes")
			if want := []int{1, 1, 2}[i]; till.bill.Rewrites != want {
				t.Errorf("%d rewrites in %d requests, want %d", till.bill.Rewrites, i+1, want)
			}
		}
	})
}

// The real engine's requests are priced, so that a layout in which each request extends
// the one before is seen to be cheaper.
func TestBreakpointsPriceTheEnginesRequests(t *testing.T) {
	check.SkipUnderRace(t)
	tools, err := toolsOf(t.Context())
	must(t, err)
	rule := promptcache.Rule{Kind: llm.CacheBreakpoints, TTL: cacheTTL}
	turns := talk(15, 0.7, false)
	all := contenders(tools, rule)
	at := slices.IndexFunc(all, func(c contender) bool { return c.name == "sliding window" })
	for _, with := range []contender{all[0], all[at]} {
		r, err := with.price(t.Context(), turns, rule, func() {})
		must(t, err)
		requests, _ := measure(turns)
		if r.Turns.Requests != requests || r.Turns.Written == 0 || r.Turns.Cached == 0 || r.Turns.Uncached != 0 {
			t.Errorf("%s: %+v of %d requests", with.name, r.Turns, requests)
		}
	}
}
