package main

import (
	"hash/maphash"
	"maps"
	"strings"
	"time"

	"cairn/internal/tokens"
	"cairn/llm"
)

// How providers' prompt caches match what requests begin with.

const (
	cachePrefix      = "prefix"
	cacheBreakpoints = "breakpoints"
	cacheUnits       = "units"
)

var caches = []string{cachePrefix, cacheBreakpoints, cacheUnits}

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

// cacheRule is what a provider's prompt cache keeps, and for how long.
type cacheRule struct {
	kind string
	ttl  time.Duration
}

// ledger is what the cache holds of one conversation.
type ledger struct {
	rule cacheRule

	seed    maphash.Seed
	entries map[uint64]time.Time // by the hash of the blocks up to a mark: when it was used last
	costs   map[string]int       // tokens of the blocks of the last request
	last    []uint64             // hashes of its prefixes, by the number of blocks
	blocks  []string             // its blocks
	tokens  int                  // of it
	at      time.Time            // when it was sent
}

func newLedger(rule cacheRule) *ledger {
	return &ledger{rule: rule, seed: maphash.MakeSeed(), entries: map[uint64]time.Time{}, costs: map[string]int{}}
}

// priced is a request, in tokens.
type priced struct {
	cached, written, uncached int
	rewritten                 bool // it shares less than half with the one before
}

// price says what of a request is read, written, or neither. With keep set it becomes
// the last request.
func (l *ledger) price(req llm.Request, now time.Time, keep bool) (p priced) {
	maps.DeleteFunc(l.entries, func(_ uint64, used time.Time) bool { return now.Sub(used) >= l.rule.ttl })
	blocks := blocksOf(req)
	end := len(blocks)
	prefixes, upTo, costs := l.measure(blocks)
	if keep {
		defer func() { l.costs, l.last, l.blocks, l.tokens, l.at = costs, prefixes, blocks, upTo[end], now }()
	}
	shared := 0 // blocks, with the last request
	for shared+1 < min(len(prefixes), len(l.last)) && prefixes[shared+1] == l.last[shared+1] {
		shared++
	}
	if l.rule.kind == cachePrefix {
		known := upTo[shared]
		if shared < min(end, len(l.blocks)) {
			known += tokens.Estimate(commonPrefix(l.blocks[shared], blocks[shared]))
		}
		if now.Sub(l.at) < l.rule.ttl {
			p.cached = known
		}
		p.uncached, p.rewritten = upTo[end]-p.cached, 2*known <= l.tokens
		return p
	}
	marks := l.marks(req, end)
	read := 0
	for _, at := range marks {
		if _, known := l.entries[prefixes[at]]; known {
			read = max(read, at)
		}
	}
	if l.rule.kind == cacheUnits && read > 0 && read == len(l.last)-1 && strings.HasPrefix(blocks[read], assistantBlock) {
		read++ // the answer ends a unit too
	}
	p.cached, p.rewritten = upTo[read], 2*upTo[shared] <= l.tokens
	if l.rule.kind == cacheBreakpoints {
		p.written = upTo[end] - upTo[read]
	} else {
		p.uncached = upTo[end] - upTo[read]
	}
	l.entries[prefixes[read]] = now
	for _, at := range marks {
		if l.rule.kind == cacheBreakpoints || at == end {
			l.entries[prefixes[at]] = now
		}
	}
	return p
}

// commonPrefix is what a and b begin with in common.
func commonPrefix(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return a[:i]
}

// marks are the numbers of blocks behind which a request may be read from the cache.
func (l *ledger) marks(req llm.Request, end int) []int {
	if l.rule.kind == cacheBreakpoints {
		return []int{min(1+req.Head, end), min(max(len(l.last)-1, 0), end), end}
	}
	all := make([]int, end)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// measure returns, for each number of blocks, the hash and the tokens of so many, and
// what each block costs.
func (l *ledger) measure(blocks []string) (prefixes []uint64, upTo []int, costs map[string]int) {
	prefixes, upTo, costs = make([]uint64, len(blocks)+1), make([]int, len(blocks)+1), make(map[string]int, len(blocks))
	for i, b := range blocks {
		cost, known := l.costs[b]
		if !known {
			cost = tokens.Estimate(b)
		}
		costs[b] = cost
		prefixes[i+1] = maphash.Comparable(l.seed, [2]uint64{prefixes[i], maphash.String(l.seed, b)})
		upTo[i+1] = upTo[i] + cost
	}
	return prefixes, upTo, costs
}

const assistantBlock = "<" + string(llm.RoleAssistant) + ">"

// blocksOf is a request as its tools and its messages, in the order in which providers
// put them together.
func blocksOf(req llm.Request) []string {
	blocks := make([]string, 1, 1+len(req.Messages))
	var b strings.Builder
	for _, t := range req.Tools {
		b.WriteString(t.Name + "\n" + t.Description + "\n")
		b.Write(t.Parameters)
		b.WriteByte('\n')
	}
	blocks[0] = b.String()
	for _, m := range req.Messages {
		b.Reset()
		b.WriteString("<" + string(m.Role) + ">" + m.CallID + "\n" + m.Text)
		for _, call := range m.Calls {
			b.WriteString("\n" + call.ID + " " + call.Name + " " + call.Arguments)
		}
		b.WriteByte('\n')
		blocks = append(blocks, b.String())
	}
	return blocks
}
