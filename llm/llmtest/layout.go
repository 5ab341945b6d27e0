// A request as a list of parts, the units of caching and counting.

package llmtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"

	"github.com/tiktoken-go/tokenizer"

	"cairn/llm"
)

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

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// partTokens is the overhead of a part, in tokens.
const partTokens = 4

// count sets the tokens of parts.
func count(parts []part) []part {
	for i := range parts {
		if parts[i].tokens = partTokens + countTokens(parts[i].text); parts[i].image {
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
	n, err := codec().Count(text)
	if err != nil {
		n = len(text) / 4
	}
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
