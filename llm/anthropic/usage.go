// What the server counted.

package anthropic

import (
	"encoding/json"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// usage counts what is read from the cache and written to it beside the input.
type usage struct {
	Input   provider.Tokens `json:"input_tokens"`
	Written provider.Tokens `json:"cache_creation_input_tokens"`
	Cached  provider.Tokens `json:"cache_read_input_tokens"`
	Output  provider.Tokens `json:"output_tokens"`
}

// add reads the counts of an event. They are totals, so later ones replace earlier ones.
func (u *usage) add(raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	// A field of another form leaves the count as it is.
	_ = json.Unmarshal(raw, u)
}

func (u usage) total() llm.Usage {
	return llm.Usage{
		Prompt:     int(u.Input + u.Written + u.Cached),
		Completion: int(u.Output),
		Cached:     int(u.Cached),
		Written:    int(u.Written),
	}
}
