package main

import (
	"strings"
	"sync"
	"time"

	"cairn/compactor"
	"cairn/llm"
)

const (
	cachedPrice = 0.1 // of a token that is read from the provider's cache
	outputPrice = 4.0 // of a token that is written
	cacheTTL    = 5 * time.Minute
)

const priceHelp = `Prices are in tokens of uncached input: a token read from the provider's cache counts
0.1, a written one 4. What a request has in common with the one before it, byte by byte
from the start, is read from the cache, if that one was less than 5 minutes ago. Turns are
compared with turns and the worker's requests with the worker's, tools included. Tokens
are Cairn's estimate.`

// bill is what was sent and written, in tokens.
type bill struct {
	Uncached int `json:"uncached"`
	Cached   int `json:"cached"`
	Output   int `json:"output"`
	Requests int `json:"requests"`
	Rewrites int `json:"rewrites"` // requests that share less than half with the one before, the first one included
}

// input and output are in tokens of uncached input.
func (b bill) input() float64  { return float64(b.Uncached) + cachedPrice*float64(b.Cached) }
func (b bill) output() float64 { return outputPrice * float64(b.Output) }

// till prices the requests of one kind in one conversation.
type till struct {
	clock  *clock
	bill   bill
	last   string // the request before
	tokens int    // of last
	at     time.Time
}

// charge prices a request and what was answered.
func (t *till) charge(req llm.Request, answer string) {
	prompt := flat(req)
	t.tokens = t.add(prompt, answer, &t.bill)
	t.last, t.at = prompt, t.clock.now()
}

// add prices on to a request that comes after the last one that was charged, and
// returns its tokens.
func (t *till) add(prompt, answer string, to *bill) (tokens int) {
	shared := commonPrefix(t.last, prompt)
	known := 0
	if 2*shared > len(t.last) { // the shorter part is counted
		known = t.tokens - compactor.Estimate(t.last[shared:])
	} else {
		known = compactor.Estimate(prompt[:shared])
		to.Rewrites++
	}
	fresh := compactor.Estimate(prompt[shared:])
	if t.clock.now().Sub(t.at) < cacheTTL {
		to.Cached += known
		to.Uncached += fresh
	} else {
		to.Uncached += known + fresh
	}
	to.Output += compactor.Estimate(answer)
	to.Requests++
	return known + fresh
}

// flat is a request as one text, in the order in which providers put it together.
func flat(req llm.Request) string {
	var b strings.Builder
	for _, t := range req.Tools {
		b.WriteString(t.Name + "\n" + t.Description + "\n")
		b.Write(t.Parameters)
		b.WriteByte('\n')
	}
	for _, m := range req.Messages {
		b.WriteString("<" + string(m.Role) + ">" + m.CallID + "\n" + m.Text)
		for _, call := range m.Calls {
			b.WriteString("\n" + call.ID + " " + call.Name + " " + call.Arguments)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

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
