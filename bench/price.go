package main

import (
	"strings"
	"sync"
	"time"

	"cairn/compactor"
	"cairn/llm"
)

const (
	cachedPrice  = 0.1  // of a token that is read from the provider's cache
	writtenPrice = 1.25 // of one that is written to it, where that costs something
	outputPrice  = 4.0  // of a token of an answer
	cacheTTL     = 5 * time.Minute
)

const priceHelp = `Prices are in tokens of uncached input: a token read from the provider's cache counts
0.1, one of an answer 4. Turns are compared with turns and the worker's requests with the
worker's, tools included. Tokens are Cairn's estimate.

` + cacheHelp

// bill is what was sent and written, in tokens.
type bill struct {
	Uncached int `json:"uncached"`
	Cached   int `json:"cached"`
	Written  int `json:"written"` // to the cache
	Output   int `json:"output"`
	Requests int `json:"requests"`
	Rewrites int `json:"rewrites"` // requests that share less than half with the one before, the first one included
}

// input and output are in tokens of uncached input.
func (b bill) input() float64 {
	return float64(b.Uncached) + cachedPrice*float64(b.Cached) + writtenPrice*float64(b.Written)
}
func (b bill) output() float64 { return outputPrice * float64(b.Output) }

// till prices the requests of one kind in one conversation.
type till struct {
	clock  *clock
	rule   cacheRule
	blocks *ledger // for the rules that match blocks; nil: prefix
	bill   bill

	last   string // the request before
	tokens int    // of last
	at     time.Time
}

func newTill(c *clock, rule cacheRule) *till {
	t := &till{clock: c, rule: rule}
	if rule.kind != cachePrefix {
		t.blocks = newLedger(rule)
	}
	return t
}

// charge prices a request and what was answered.
func (t *till) charge(req llm.Request, answer string) {
	t.add(req, answer, &t.bill, true)
}

// add prices a request that comes after the last one that was charged. With keep set
// it is the last one from now on.
func (t *till) add(req llm.Request, answer string, to *bill, keep bool) {
	to.Output += compactor.Estimate(answer)
	to.Requests++
	if t.blocks != nil {
		p := t.blocks.price(req, t.clock.now(), keep)
		to.Cached, to.Written, to.Uncached = to.Cached+p.cached, to.Written+p.written, to.Uncached+p.uncached
		if p.rewritten {
			to.Rewrites++
		}
		return
	}
	prompt := flat(req)
	tokens := t.prefix(prompt, to)
	if keep {
		t.tokens, t.last, t.at = tokens, prompt, t.clock.now()
	}
}

// prefix prices a request by what it has in common with the last one, byte by byte,
// and returns its tokens.
func (t *till) prefix(prompt string, to *bill) (tokens int) {
	shared := commonPrefix(t.last, prompt)
	known := 0
	if 2*shared > len(t.last) { // the shorter part is counted
		known = t.tokens - compactor.Estimate(t.last[shared:])
	} else {
		known = compactor.Estimate(prompt[:shared])
		to.Rewrites++
	}
	fresh := compactor.Estimate(prompt[shared:])
	if t.clock.now().Sub(t.at) < t.rule.ttl {
		to.Cached += known
		to.Uncached += fresh
	} else {
		to.Uncached += known + fresh
	}
	return known + fresh
}

// flat is a request as one text.
func flat(req llm.Request) string { return strings.Join(blocksOf(req), "") }

// commonPrefix is how many bytes a and b begin with in common.
func commonPrefix(a, b string) int {
	const block = 4096 // at once is quicker
	n, i := min(len(a), len(b)), 0
	for i+block <= n && a[i:i+block] == b[i:i+block] {
		i += block
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// clock is the time in the conversation that is priced, which nobody waits for.
type clock struct {
	mu sync.Mutex // guards t
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}
