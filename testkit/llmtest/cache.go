// A request as a list of parts, the units of caching and counting, and the prompt caches of the
// providers, each with its own rule.

package llmtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/tiktoken-go/tokenizer"

	"cairn/llm"
)

// cacheKind is how a provider finds cached prefixes.
type cacheKind int

const (
	cachePrefix      cacheKind = iota // the longest common prefix of any earlier prompt
	cacheBreakpoints                  // exact prefixes up to breakpoints and up to the newest message; writes are reported
	cacheMarks                        // exact prefixes up to marks, found within lookback parts of a mark; writes are reported
	cacheUnits                        // exact prefixes up to the ends of prompts and responses
)

type cacheRule struct {
	kind      cacheKind
	minTokens int // tokens of the shortest prefix that is cached
	step      int // granularity of reads, in tokens; 0: one
}

// lookback is how many parts before a mark are compared.
const lookback = 20

// maxPrompts limits the prompts that are stored for cachePrefix.
const maxPrompts = 64

type hash [sha256.Size]byte

// cache is the prompt cache of one model.
type cache struct {
	entries map[hash]bool // exact prefixes
	prompts [][]part
}

// hashes returns the hashes of all prefixes of parts; the first is of the empty prefix.
func hashes(parts []part) []hash {
	all := make([]hash, 1, len(parts)+1)
	for _, p := range parts {
		before := all[len(all)-1]
		all = append(all, sha256.Sum256([]byte(string(before[:])+p.role+"\x00"+p.text)))
	}
	return all
}

// read returns the usage of a prompt.
func (c *cache) read(rule cacheRule, parts []part) llm.Usage {
	u := llm.Usage{Prompt: tokensOf(parts)}
	if rule.kind == cachePrefix {
		for _, prompt := range c.prompts {
			u.Cached = max(u.Cached, common(prompt, parts))
		}
	}
	writes := ends(rule, parts)
	for i, h := range hashes(parts) {
		near := func(end int) bool { return i <= end && i > end-lookback }
		if c.entries[h] && (rule.kind != cacheMarks || slices.ContainsFunc(writes, near)) {
			u.Cached = tokensOf(parts[:i])
		}
	}
	if u.Cached < rule.minTokens {
		u.Cached = 0
	}
	u.Cached -= u.Cached % max(rule.step, 1)
	if rule.kind == cacheBreakpoints || rule.kind == cacheMarks {
		for _, end := range writes {
			u.Written = max(u.Written, tokensOf(parts[:end])-u.Cached)
		}
	}
	return u
}

// ends returns the lengths of the prefixes that a prompt writes to the cache.
func ends(rule cacheRule, parts []part) (lengths []int) {
	for i, p := range parts {
		last := i == len(parts)-1
		if (p.marked || last && rule.kind != cacheMarks) && tokensOf(parts[:i+1]) >= rule.minTokens {
			lengths = append(lengths, i+1)
		}
	}
	return lengths
}

// write caches a prompt, and the response if the provider caches responses.
func (c *cache) write(rule cacheRule, parts, answer []part) {
	switch rule.kind {
	case cachePrefix:
		c.prompts = append(c.prompts, parts)
		if len(c.prompts) > maxPrompts {
			c.prompts = c.prompts[1:]
		}
		return
	case cacheUnits:
		whole := append(parts[:len(parts):len(parts)], answer...)
		c.entries[hashes(whole)[len(whole)]] = true
		c.entries[hashes(parts)[len(parts)]] = true
		return
	}
	all := hashes(parts)
	for _, end := range ends(rule, parts) {
		c.entries[all[end]] = true
	}
}

// common returns the tokens of the common prefix of two prompts. A part that differs counts up to
// the first difference of its text.
func common(a, b []part) (tokens int) {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i].role != b[i].role:
			return tokens
		case a[i].text != b[i].text:
			return tokens + countTokens(b[i].text[:samePrefix(a[i].text, b[i].text)])
		}
		tokens += b[i].tokens
	}
	return tokens
}

// samePrefix returns the length of the common prefix of two texts.
func samePrefix(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// part is a part of a prompt: a tool, a text, a picture, a call or a result.
type part struct {
	role      string
	text      string
	reasoning bool
	image     bool
	marked    bool // a cache mark or breakpoint follows it
	tokens    int  // set by count
}

func callPart(call llm.Call, marked bool) part {
	return part{role: "assistant call", text: call.ID + " " + call.Name + " " + call.Arguments, marked: marked}
}

func resultPart(id, text string, marked bool) part {
	return part{role: "tool", text: id + " " + text, marked: marked}
}

// asResult makes a tool's message one part, followed by its pictures.
func (m *Message) asResult(marked bool) {
	pictures := slices.DeleteFunc(slices.Clone(m.pieces), func(p part) bool { return !p.image })
	for _, image := range m.Images[len(pictures):] { // of Messages, whose pieces are inside a block
		pictures = append(pictures, part{role: "tool", text: fmt.Sprintf("image %x", sha256.Sum256(image.Data)), image: true})
	}
	m.pieces = append([]part{resultPart(m.ToolCallID, m.Text(), false)}, pictures...)
	m.pieces[len(m.pieces)-1].marked = marked
}

// partTokens is the overhead of a part, in tokens.
const partTokens = 4

// count sets the tokens of parts.
func count(parts []part) []part {
	for i := range parts {
		parts[i].tokens = partTokens + countTokens(parts[i].text)
		if parts[i].image {
			parts[i].tokens = imageTokens
		}
	}
	return parts
}

func tokensOf(parts []part) (n int) {
	for _, p := range parts {
		n += p.tokens
	}
	return n
}

// codec is the tokenizer of OpenAI's models since GPT-4o.
var codec = sync.OnceValue(func() tokenizer.Codec {
	c, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		panic(err) // the vocabulary is embedded in the library
	}
	return c
})

// counts caches token counts: conversations repeat their beginnings.
var counts sync.Map

func countTokens(text string) int {
	if n, ok := counts.Load(text); ok {
		return n.(int)
	}
	n, _ := codec().Count(text) // the tokenizer fails on no text
	counts.Store(text, n)
	return n
}

// layout returns the parts of a valid request, in the order in which providers cache them.
func layout(r Request, reasoning bool) (parts []part) {
	var tools []object
	_ = json.Unmarshal(r.Body["tools"], &tools) // already validated
	for _, tool := range tools {
		marked := tool["cache_control"] != nil
		delete(tool, "cache_control")
		parts = append(parts, part{role: "tool", text: encode(tool), marked: marked})
	}
	for _, m := range r.Messages {
		for _, p := range m.pieces {
			if reasoning || !p.reasoning {
				parts = append(parts, p)
			}
		}
	}
	return count(parts)
}

// Marked returns the texts of the parts of the prompt that a cache mark or breakpoint follows.
func (r Request) Marked() (texts []string) {
	for _, p := range layout(r, true) {
		if p.marked {
			texts = append(texts, p.text)
		}
	}
	return texts
}

// Tokens estimates the size of messages and tools: one token per four bytes of JSON, and imageTokens per picture.
func (r Request) Tokens() int {
	size := 0
	images := 0
	for _, name := range []string{"messages", "input", "system", "instructions", "tools"} {
		size += len(r.Body[name])
	}
	for _, m := range r.Messages {
		for _, image := range m.Images {
			size -= base64.StdEncoding.EncodedLen(len(image.Data))
			images++
		}
	}
	return size/4 + images*imageTokens
}
