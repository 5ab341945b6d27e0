// Package promptcache computes how much of a request a provider reads from its prompt cache.
package promptcache

import (
	"hash/maphash"
	"maps"
	"strings"
	"time"

	"cairn/internal/tokens"
	"cairn/llm"
)

// Kinds lists all kinds of rules, see llm.Cacher. A request is a list of blocks: the tools, and each of its messages.
var Kinds = []string{llm.CachePrefix, llm.CacheBreakpoints, llm.CacheUnits}

// Rule describes a provider's prompt cache: how it matches, and how long an entry lives after its last use.
type Rule struct {
	Kind string
	TTL  time.Duration
}

// Ledger is the state of the cache for one conversation.
type Ledger struct {
	// Appends means that requests whose messages start at the same address in memory start with the
	// same messages: then the cost of a call depends on what was added.
	Appends bool

	rule    Rule
	seed    maphash.Seed
	entries map[uint64]time.Time // by the hash of the blocks up to a mark: time of the last use
	last    measured             // the last request
	at      time.Time            // when it was sent
}

// measured is a request: its blocks, and by the number of leading blocks their hash and tokens.
type measured struct {
	first    *llm.Message // nil: no messages
	blocks   []string
	prefixes []uint64
	upTo     []int
}

// New returns an empty cache.
func New(rule Rule) *Ledger {
	return &Ledger{rule: rule, seed: maphash.MakeSeed(), entries: map[uint64]time.Time{}}
}

// Priced is a request, in tokens.
type Priced struct {
	Cached, Written, Uncached int  // read from the cache, written to it, neither
	Rewritten                 bool // less than half is shared with the previous request
}

// Price returns which part of a request is read, written, or neither. If keep is set it becomes the last request.
func (l *Ledger) Price(req llm.Request, now time.Time, keep bool) (p Priced) {
	maps.DeleteFunc(l.entries, func(_ uint64, used time.Time) bool { return now.Sub(used) >= l.rule.TTL })
	m, shared := l.measure(req) // blocks shared with the last request
	end, before := len(m.blocks), l.last
	size := 0 // of the last request, in tokens
	if n := len(before.blocks); n > 0 {
		size = before.upTo[n]
	}
	if keep {
		defer func() { l.last, l.at = m, now }()
	}
	if l.rule.Kind == llm.CachePrefix {
		known := m.upTo[shared]
		if shared < min(end, len(before.blocks)) {
			known += tokens.Estimate(commonPrefix(before.blocks[shared], m.blocks[shared]))
		}
		if now.Sub(l.at) < l.rule.TTL {
			p.Cached = known
		}
		p.Uncached, p.Rewritten = m.upTo[end]-p.Cached, 2*known <= size
		return p
	}
	marks := l.marks(req, end)
	read := 0
	for _, at := range marks {
		if _, known := l.entries[m.prefixes[at]]; known {
			read = max(read, at)
		}
	}
	if l.rule.Kind == llm.CacheUnits && read > 0 && read == len(before.blocks) && read < end && strings.HasPrefix(m.blocks[read], assistantBlock) {
		read++ // the answer ends a unit too
	}
	p.Cached, p.Rewritten = m.upTo[read], 2*m.upTo[shared] <= size
	if l.rule.Kind == llm.CacheBreakpoints {
		p.Written = m.upTo[end] - m.upTo[read]
	} else {
		p.Uncached = m.upTo[end] - m.upTo[read]
	}
	l.entries[m.prefixes[read]] = now
	for _, at := range marks {
		if l.rule.Kind == llm.CacheBreakpoints || at == end {
			l.entries[m.prefixes[at]] = now
		}
	}
	return p
}

func commonPrefix(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return a[:i]
}

// marks returns the numbers of blocks after which a request may be read from the cache.
func (l *Ledger) marks(req llm.Request, end int) []int {
	if l.rule.Kind == llm.CacheBreakpoints {
		return []int{min(1+req.Head, end), min(len(l.last.blocks), end), end}
	}
	all := make([]int, end)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// measure measures a request; shared is the number of leading blocks in common with the last one.
func (l *Ledger) measure(req llm.Request) (m measured, shared int) {
	if len(req.Messages) > 0 {
		m.first = &req.Messages[0]
	}
	n := len(l.last.blocks)
	if l.Appends && n > 1 && m.first == l.last.first && len(req.Messages) >= n-1 {
		m.blocks, m.prefixes, m.upTo = l.last.blocks, l.last.prefixes, l.last.upTo
		for _, message := range req.Messages[n-1:] {
			l.addBlock(&m, messageBlock(message))
		}
		return m, n
	}
	m.blocks, m.prefixes, m.upTo = nil, []uint64{0}, []int{0}
	for _, block := range Blocks(req) {
		l.addBlock(&m, block)
	}
	for shared < min(len(m.blocks), n) && m.prefixes[shared+1] == l.last.prefixes[shared+1] {
		shared++
	}
	return m, shared
}

// addBlock appends one block. What it shares with the last request is not estimated again.
func (l *Ledger) addBlock(m *measured, block string) {
	end := len(m.blocks)
	prefix := maphash.Comparable(l.seed, [2]uint64{m.prefixes[end], maphash.String(l.seed, block)})
	upTo := 0
	if end < len(l.last.blocks) && l.last.prefixes[end+1] == prefix {
		upTo = l.last.upTo[end+1]
	} else {
		upTo = m.upTo[end] + tokens.Estimate(block)
	}
	m.blocks, m.prefixes, m.upTo = append(m.blocks, block), append(m.prefixes, prefix), append(m.upTo, upTo)
}

const assistantBlock = "<" + string(llm.RoleAssistant) + ">"

// Blocks returns a request as its tools and its messages, in the order in which providers concatenate them.
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
