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
	// Appends means that requests whose messages start at the same address in memory start with the same messages: then
	// the cost of a call depends on what was added.
	Appends bool

	rule    Rule
	seed    maphash.Seed
	entries map[uint64]time.Time // by the hash of the blocks up to a mark: time of the last use
	first   *llm.Message         // the first message of the last request
	blocks  []block              // of that request, behind an empty one
	at      time.Time            // when it was sent
}

// block is a block of a request, with the hash and the tokens of all blocks up to it.
type block struct {
	text   string
	prefix uint64
	upTo   int
}

// New returns an empty cache.
func New(rule Rule) *Ledger {
	return &Ledger{rule: rule, seed: maphash.MakeSeed(), entries: map[uint64]time.Time{}, blocks: make([]block, 1)}
}

// Priced is a request, in tokens.
type Priced struct {
	Cached, Written, Uncached int  // read from the cache, written to it, neither
	Rewritten                 bool // less than half is shared with the previous request
}

// Price returns which part of a request is read, written, or neither. If keep is set it becomes the last request.
func (l *Ledger) Price(req llm.Request, now time.Time, keep bool) (p Priced) {
	maps.DeleteFunc(l.entries, func(_ uint64, used time.Time) bool { return now.Sub(used) >= l.rule.TTL })
	blocks, shared := l.measure(req)
	end, before := len(blocks)-1, l.blocks
	known := blocks[shared].upTo
	if l.rule.Kind == llm.CachePrefix {
		if shared < min(end, len(before)-1) {
			known += tokens.Estimate(commonPrefix(before[shared+1].text, blocks[shared+1].text))
		}
		if now.Sub(l.at) < l.rule.TTL {
			p.Cached = known
		}
	} else {
		p.Cached = l.readMarked(blocks, req.Head, now)
	}
	if p.Uncached = blocks[end].upTo - p.Cached; l.rule.Kind == llm.CacheBreakpoints {
		p.Written, p.Uncached = p.Uncached, 0
	}
	p.Rewritten = 2*known <= before[len(before)-1].upTo
	if keep {
		l.first, l.blocks, l.at = nil, blocks, now
		if len(req.Messages) > 0 {
			l.first = &req.Messages[0]
		}
	}
	return p
}

// readMarked returns how many tokens are read up to a place where an earlier request was marked, and marks this one.
func (l *Ledger) readMarked(blocks []block, head int, now time.Time) int {
	end, before, read := len(blocks)-1, len(l.blocks)-1, 0
	known := func(at int) bool {
		_, ok := l.entries[blocks[at].prefix]
		return ok
	}
	marks := []int{min(1+head, end), min(before, end), end}
	if l.rule.Kind == llm.CacheUnits {
		marks = []int{end}
		for at := 1; at <= end; at++ {
			if known(at) {
				read = at
			}
		}
		if read > 0 && read == before && read < end && strings.HasPrefix(blocks[read+1].text, assistantBlock) {
			read++ // the answer ends a unit too
		}
	}
	for _, at := range marks {
		if known(at) {
			read = max(read, at)
		}
	}
	for _, at := range append(marks, read) {
		l.entries[blocks[at].prefix] = now
	}
	return blocks[read].upTo
}

func commonPrefix(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return a[:i]
}

// measure returns the blocks of a request, behind an empty one; shared is the number of leading blocks in common with the last one.
func (l *Ledger) measure(req llm.Request) (blocks []block, shared int) {
	if n := len(l.blocks) - 1; l.Appends && n > 1 && len(req.Messages) >= n-1 && l.first == &req.Messages[0] {
		blocks = l.blocks
		for _, message := range req.Messages[n-1:] {
			blocks = l.add(blocks, messageBlock(message))
		}
		return blocks, n
	}
	blocks = make([]block, 1)
	for _, text := range Blocks(req) {
		blocks = l.add(blocks, text)
	}
	for shared+1 < min(len(blocks), len(l.blocks)) && blocks[shared+1].prefix == l.blocks[shared+1].prefix {
		shared++
	}
	return blocks, shared
}

// add appends a block. What it shares with the last request is not estimated again.
func (l *Ledger) add(blocks []block, text string) []block {
	n, before, last := len(blocks), blocks[len(blocks)-1], l.blocks
	b := block{text: text, prefix: maphash.Comparable(l.seed, [2]uint64{before.prefix, maphash.String(l.seed, text)})}
	if n < len(last) && last[n].prefix == b.prefix {
		b.upTo = last[n].upTo
	} else {
		b.upTo = before.upTo + tokens.Estimate(text)
	}
	return append(blocks, b)
}

const assistantBlock = "<" + string(llm.RoleAssistant) + ">"

// Blocks returns a request as its tools and its messages, in the order in which providers concatenate them.
func Blocks(req llm.Request) []string {
	blocks := make([]string, 1, 1+len(req.Messages))
	for _, t := range req.Tools {
		blocks[0] += t.Name + "\n" + t.Description + "\n" + string(t.Parameters) + "\n"
	}
	for _, m := range req.Messages {
		blocks = append(blocks, messageBlock(m))
	}
	return blocks
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
