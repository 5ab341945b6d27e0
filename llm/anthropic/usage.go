// What the server counted.

package anthropic

import (
	"encoding/json"

	"cairn/llm"
)

// mostCounted is the most a count is believed to be. No window is as large.
const mostCounted = 100_000_000

// tokens is a count. What is no number, or an impossible one, counts as not given.
type tokens int

func (n *tokens) UnmarshalJSON(raw []byte) error {
	var v float64
	if json.Unmarshal(raw, &v) == nil && v > 0 && v <= mostCounted {
		*n = tokens(v)
	}
	return nil
}

// usage counts what is read from the cache and written to it beside the input.
type usage struct {
	Input   tokens `json:"input_tokens"`
	Written tokens `json:"cache_creation_input_tokens"`
	Cached  tokens `json:"cache_read_input_tokens"`
	Output  tokens `json:"output_tokens"`
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
