// The server's token counts.

package anthropic

import (
	"encoding/json"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// usage counts cache reads and writes separately from the input.
type usage struct {
	Input   provider.Tokens `json:"input_tokens"`
	Written provider.Tokens `json:"cache_creation_input_tokens"`
	Cached  provider.Tokens `json:"cache_read_input_tokens"`
	Output  provider.Tokens `json:"output_tokens"`
}

// add parses the counts of an event. They are totals, so later ones replace earlier ones.
func (u *usage) add(raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	// A field of another type leaves the count unchanged.
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
