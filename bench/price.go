package main

import (
	"strings"
	"sync"
	"time"

	"cairn/internal/promptcache"
	"cairn/internal/tokens"
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

const cacheHelp = `The cache follows one of three rules, chosen with --cache. A request is a list of blocks: the
tools, and each of its messages.
  prefix       what a request has in common with the one before it, byte by byte from the
               start, is read (OpenAI up to 5.5, Gemini, llama.cpp, vLLM)
  breakpoints  a prefix is read if it ends at a mark of this request and an earlier one had
               a mark behind the same blocks; marks are behind the head, at the end of the
               request before and at the end of this one. What is between the prefix that was
               read and the last mark is written, which costs 1.25 (OpenAI from 5.6 on, Anthropic)
  units        a whole earlier request is read, with its answer, if this one begins with its
               blocks (DeepSeek)
What was read or written less than --ttl ago is in the cache: 5 minutes, as Cairn believes by
default and Anthropic promises; OpenAI from 5.6 on promises 30.`

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
	ledger *promptcache.Ledger
	bill   bill
}

func newTill(c *clock, rule promptcache.Rule) *till {
	return &till{clock: c, ledger: promptcache.New(rule)}
}

// charge prices a request and what was answered.
func (t *till) charge(req llm.Request, answer string) {
	t.add(req, answer, &t.bill, true)
}

// add prices a request that comes after the last one that was charged. With keep set
// it is the last one from now on.
func (t *till) add(req llm.Request, answer string, to *bill, keep bool) {
	p := t.ledger.Price(req, t.clock.now(), keep)
	to.Requests++
	to.Output += tokens.Estimate(answer)
	to.Cached, to.Written, to.Uncached = to.Cached+p.Cached, to.Written+p.Written, to.Uncached+p.Uncached
	if p.Rewritten {
		to.Rewrites++
	}
}

// flat is a request as one text.
func flat(req llm.Request) string { return strings.Join(promptcache.Blocks(req), "") }

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
