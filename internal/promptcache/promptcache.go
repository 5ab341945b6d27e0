// Package promptcache computes what of a request a provider reads from its prompt cache.
package promptcache

import (
	"hash/maphash"
	"maps"
	"strings"
	"time"

	"cairn/internal/tokens"
	"cairn/llm"
)

// How providers' prompt caches match what requests begin with. A request is a list of blocks:
// the tools, and each of its messages.
const (
	// Prefix reads what a request has in common with the one before it, byte by byte (OpenAI
	// up to 5.5, Gemini, llama.cpp, vLLM).
	Prefix = llm.CachePrefix
	// Breakpoints reads a prefix that ends at a mark of this request, if an earlier one had a
	// mark behind the same blocks: behind the head, at the end of the request before and at the
	// end of this one. What lies between it and the last mark is written (OpenAI from 5.6 on, Anthropic).
	Breakpoints = llm.CacheBreakpoints
	// Units reads a whole earlier request, with its answer, if this one begins with it (DeepSeek).
	Units = llm.CacheUnits
)

// Kinds are all of them.
var Kinds = []string{Prefix, Breakpoints, Units}

// Rule is what a provider's prompt cache keeps, and for how long after its last use.
type Rule struct {
	Kind string
	TTL  time.Duration
}

// Ledger is what the cache holds of one conversation.
type Ledger struct {
	// Appends says that a request whose messages begin at the same place in memory as those of
	// the one before begins with the same messages: then a request costs what was added.
	Appends bool

	rule    Rule
	seed    maphash.Seed
	entries map[uint64]time.Time // by the hash of the blocks up to a mark: when it was used last
	costs   map[string]int       // tokens of the blocks of the last request; nil with Appends
	last    measured             // the last request
	at      time.Time            // when it was sent
}

// measured is a request: its blocks, and by the number of blocks the hash and the tokens of so many.
type measured struct {
	first    *llm.Message // nil: it has none
	blocks   []string
	prefixes []uint64
	upTo     []int
}

// New returns a cache that holds nothing.
func New(rule Rule) *Ledger {
	return &Ledger{rule: rule, seed: maphash.MakeSeed(), entries: map[uint64]time.Time{}, costs: map[string]int{}}
}

// Priced is a request, in tokens.
type Priced struct {
	Cached, Written, Uncached int  // read from the cache, written to it, neither
	Rewritten                 bool // it shares less than half with the one before
}

// Price says what of a request is read, written, or neither. With keep set it becomes
// the last request.
func (l *Ledger) Price(req llm.Request, now time.Time, keep bool) (p Priced) {
	maps.DeleteFunc(l.entries, func(_ uint64, used time.Time) bool { return now.Sub(used) >= l.rule.TTL })
	m, shared := l.measure(req) // blocks shared with the last request
	end, before := len(m.blocks), l.last
	tokens := 0 // of the last request
	if n := len(before.blocks); n > 0 {
		tokens = before.upTo[n]
	}
	if keep {
		defer func() { l.last, l.at = m, now }()
	}
	if l.rule.Kind == Prefix {
		known := m.upTo[shared]
		if shared < min(end, len(before.blocks)) {
			known += estimate(commonPrefix(before.blocks[shared], m.blocks[shared]))
		}
		if now.Sub(l.at) < l.rule.TTL {
			p.Cached = known
		}
		p.Uncached, p.Rewritten = m.upTo[end]-p.Cached, 2*known <= tokens
		return p
	}
	marks := l.marks(req, end)
	read := 0
	for _, at := range marks {
		if _, known := l.entries[m.prefixes[at]]; known {
			read = max(read, at)
		}
	}
	if l.rule.Kind == Units && read > 0 && read == len(before.blocks) && read < end && strings.HasPrefix(m.blocks[read], assistantBlock) {
		read++ // the answer ends a unit too
	}
	p.Cached, p.Rewritten = m.upTo[read], 2*m.upTo[shared] <= tokens
	if l.rule.Kind == Breakpoints {
		p.Written = m.upTo[end] - m.upTo[read]
	} else {
		p.Uncached = m.upTo[end] - m.upTo[read]
	}
	l.entries[m.prefixes[read]] = now
	for _, at := range marks {
		if l.rule.Kind == Breakpoints || at == end {
			l.entries[m.prefixes[at]] = now
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
func (l *Ledger) marks(req llm.Request, end int) []int {
	if l.rule.Kind == Breakpoints {
		return []int{min(1+req.Head, end), min(len(l.last.blocks), end), end}
	}
	all := make([]int, end)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// measure measures a request, and counts the blocks it begins with that the last one began with.
func (l *Ledger) measure(req llm.Request) (m measured, shared int) {
	if len(req.Messages) > 0 {
		m.first = &req.Messages[0]
	}
	n := len(l.last.blocks)
	if l.Appends && n > 1 && m.first == l.last.first && len(req.Messages) >= n-1 {
		m.blocks, m.prefixes, m.upTo = l.last.blocks, l.last.prefixes, l.last.upTo
		l.add(&m, req.Messages[n-1:], nil)
		return m, n
	}
	m.blocks, m.prefixes, m.upTo = nil, []uint64{0}, []int{0}
	costs := map[string]int{}
	l.addBlock(&m, toolsBlock(req.Tools), costs)
	l.add(&m, req.Messages, costs)
	if l.costs = costs; l.Appends {
		l.costs = nil
	}
	for shared < min(len(m.blocks), n) && m.prefixes[shared+1] == l.last.prefixes[shared+1] {
		shared++
	}
	return m, shared
}

func (l *Ledger) add(m *measured, messages []llm.Message, costs map[string]int) {
	for _, message := range messages {
		l.addBlock(m, messageBlock(message), costs)
	}
}

// addBlock measures one block more. costs notes what it costs; nil: nobody asks again.
func (l *Ledger) addBlock(m *measured, block string, costs map[string]int) {
	cost, known := l.costs[block]
	if !known {
		cost = estimate(block)
	}
	if costs != nil && !l.Appends {
		costs[block] = cost
	}
	end := len(m.blocks)
	m.blocks = append(m.blocks, block)
	m.prefixes = append(m.prefixes, maphash.Comparable(l.seed, [2]uint64{m.prefixes[end], maphash.String(l.seed, block)}))
	m.upTo = append(m.upTo, m.upTo[end]+cost)
}

func estimate(text string) int { return tokens.Estimate(text) }

const assistantBlock = "<" + string(llm.RoleAssistant) + ">"

// Blocks is a request as its tools and its messages, in the order in which providers
// put them together.
func Blocks(req llm.Request) []string {
	blocks := make([]string, 1, 1+len(req.Messages))
	blocks[0] = toolsBlock(req.Tools)
	for _, m := range req.Messages {
		blocks = append(blocks, messageBlock(m))
	}
	return blocks
}

func toolsBlock(tools []llm.Tool) string {
	var b strings.Builder
	for _, t := range tools {
		b.WriteString(t.Name + "\n" + t.Description + "\n")
		b.Write(t.Parameters)
		b.WriteByte('\n')
	}
	return b.String()
}

func messageBlock(m llm.Message) string {
	var b strings.Builder
	b.WriteString("<" + string(m.Role) + ">" + m.CallID + "\n" + m.Text)
	for _, call := range m.Calls {
		b.WriteString("\n" + call.ID + " " + call.Name + " " + call.Arguments)
	}
	b.WriteByte('\n')
	return b.String()
}
