package main

import (
	"strings"
	"sync"
	"time"

	"cairn/llm"
)

const (
	cachedPrice  = 0.1  // of a token read from the provider's cache
	writtenPrice = 1.25 // of one written to it, if that costs extra
	outputPrice  = 4.0  // of an output token
	cacheTTL     = 5 * time.Minute
)

const priceHelp = `Prices are in tokens of uncached input: a token read from the provider's cache counts 0.1, one of an
answer 4. Tokens are Cairn's estimate. --cache selects the rule of the cache:
  prefix       what a request has in common with the one before it, byte by byte from the
               start, is read (OpenAI up to 5.5, Gemini, llama.cpp, vLLM)
  breakpoints  a prefix is read if it ends at a mark of this request and an earlier one had
               a mark behind the same blocks; marks are behind the head, at the end of the
               request before and at the end of this one. What is between the prefix that was
               read and the last mark is written, which costs 1.25 (OpenAI from 5.6 on, Anthropic)
  units        a whole earlier request is read, with its answer, if this one begins with its
               blocks (DeepSeek)
Entries expire after 5 minutes without use.`

// bill has token counts of requests and responses.
type bill struct {
	Uncached int `json:"uncached"`
	Cached   int `json:"cached"`
	Written  int `json:"written"` // to the cache
	Output   int `json:"output"`
	Requests int `json:"requests"`
	Rewrites int `json:"rewrites"` // requests that share less than half with the previous one, including the first
}

// input and output return prices in tokens of uncached input.
func (b bill) input() float64 {
	return float64(b.Uncached) + cachedPrice*float64(b.Cached) + writtenPrice*float64(b.Written)
}
func (b bill) output() float64 { return outputPrice * float64(b.Output) }

// flat returns a request as one text.
func flat(req llm.Request) string { return strings.Join(blocksOf(req), "") }

// clock is the virtual time of the conversation.
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
