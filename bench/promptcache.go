// How much of a request a provider reads from its prompt cache.

package main

import (
	"hash/maphash"
	"maps"
	"strings"
	"time"

	"cairn/internal/tokens"
	"cairn/llm"
)

// cacheRules are all kinds of rules, see llm.Cacher. A request is a list of blocks: the tools, and each of its messages.
var cacheRules = []string{llm.CachePrefix, llm.CacheBreakpoints, llm.CacheUnits}

// cacheRule describes a provider's prompt cache: how it matches, and how long an entry lives after its last use.
type cacheRule struct {
	kind string
	ttl  time.Duration
}

// meter prices the requests of one kind in one conversation, with the state of the cache.
type meter struct {
	clock   *clock
	bill    bill
	rule    cacheRule
	seed    maphash.Seed
	entries map[uint64]time.Time // by the hash of the blocks up to a mark: time of the last use
	blocks  []block              // of the last request, behind an empty one
	at      time.Time            // when it was sent
}

// block is a block of a request, with the hash and the tokens of all blocks up to it.
type block struct {
	text   string
	prefix uint64
	upTo   int
}

func newMeter(c *clock, rule cacheRule) *meter {
	return &meter{clock: c, rule: rule, seed: maphash.MakeSeed(), entries: map[uint64]time.Time{}, blocks: make([]block, 1)}
}

// charge prices a request and its response.
func (t *meter) charge(req llm.Request, answer string) { t.add(req, answer, &t.bill, true) }

// add adds a request and its response to b: what of it is read, written, or neither. If keep is set, it becomes the
// last request.
func (t *meter) add(req llm.Request, answer string, b *bill, keep bool) {
	now := t.clock.now()
	maps.DeleteFunc(t.entries, func(_ uint64, used time.Time) bool { return now.Sub(used) >= t.rule.ttl })
	blocks, shared := t.measure(req)
	end := len(blocks) - 1
	before := t.blocks
	known := blocks[shared].upTo
	read := 0
	if t.rule.kind == llm.CachePrefix {
		if shared < min(end, len(before)-1) {
			known += tokens.Estimate(commonPrefix(before[shared+1].text, blocks[shared+1].text))
		}
		if now.Sub(t.at) < t.rule.ttl {
			read = known
		}
	} else {
		read = t.readMarked(blocks, req.Head, now)
	}
	b.Requests++
	b.Output += tokens.Estimate(answer)
	b.Cached += read
	if t.rule.kind == llm.CacheBreakpoints {
		b.Written += blocks[end].upTo - read
	} else {
		b.Uncached += blocks[end].upTo - read
	}
	if 2*known <= before[len(before)-1].upTo {
		b.Rewrites++
	}
	if keep {
		t.blocks = blocks
		t.at = now
	}
}

// readMarked returns how many tokens are read up to a place where an earlier request was marked, and marks this one.
func (t *meter) readMarked(blocks []block, head int, now time.Time) int {
	end := len(blocks) - 1
	before := len(t.blocks) - 1
	read := 0
	known := func(at int) bool {
		_, ok := t.entries[blocks[at].prefix]
		return ok
	}
	marks := []int{min(1+head, end), min(before, end), end}
	if t.rule.kind == llm.CacheUnits {
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
		t.entries[blocks[at].prefix] = now
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
func (t *meter) measure(req llm.Request) (blocks []block, shared int) {
	blocks = make([]block, 1)
	for _, text := range blocksOf(req) {
		blocks = t.extend(blocks, text)
	}
	for shared+1 < min(len(blocks), len(t.blocks)) && blocks[shared+1].prefix == t.blocks[shared+1].prefix {
		shared++
	}
	return blocks, shared
}

// extend appends a block. What it shares with the last request is not estimated again.
func (t *meter) extend(blocks []block, text string) []block {
	n := len(blocks)
	before := blocks[len(blocks)-1]
	last := t.blocks
	b := block{text: text, prefix: maphash.Comparable(t.seed, [2]uint64{before.prefix, maphash.String(t.seed, text)})}
	if n < len(last) && last[n].prefix == b.prefix {
		b.upTo = last[n].upTo
	} else {
		b.upTo = before.upTo + tokens.Estimate(text)
	}
	return append(blocks, b)
}

const assistantBlock = "<" + string(llm.RoleAssistant) + ">"

// blocksOf returns a request as its tools and its messages, in the order in which providers concatenate them.
func blocksOf(req llm.Request) []string {
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
