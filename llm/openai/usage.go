// What a server says it has counted, in whatever form it says it.

package openai

import (
	"encoding/json"

	"cairn/llm"
)

// mostTokens is the most a count is believed to be. No window is as large.
const mostTokens = 100_000_000

// tokens is a count. What is no number, or an impossible one, counts as not said.
type tokens int

func (n *tokens) UnmarshalJSON(raw []byte) error {
	var v float64
	if json.Unmarshal(raw, &v) == nil && v > 0 && v <= mostTokens {
		*n = tokens(v)
	}
	return nil
}

// details says how the prompt met the cache.
type details struct {
	Cached  tokens `json:"cached_tokens"`
	Written tokens `json:"cache_write_tokens"`
}

// readUsage reads a usage of either wire; ok is false if there is none.
func readUsage(raw json.RawMessage) (u llm.Usage, ok bool) {
	var counted *struct {
		Prompt     tokens  `json:"prompt_tokens"`
		Completion tokens  `json:"completion_tokens"`
		Details    details `json:"prompt_tokens_details"`
		// Of Responses.
		Input        tokens  `json:"input_tokens"`
		Output       tokens  `json:"output_tokens"`
		InputDetails details `json:"input_tokens_details"`
		// Of servers in front of Claude.
		Read    tokens `json:"cache_read_input_tokens"`
		Written tokens `json:"cache_creation_input_tokens"`
	}
	// What has another form than it should leaves its field at 0.
	_ = json.Unmarshal(raw, &counted)
	if counted == nil {
		return llm.Usage{}, false
	}
	u = llm.Usage{
		Prompt:     int(max(counted.Prompt, counted.Input)),
		Completion: int(max(counted.Completion, counted.Output)),
		Cached:     int(max(counted.Details.Cached, counted.InputDetails.Cached, counted.Read)),
		Written:    int(max(counted.Details.Written, counted.InputDetails.Written, counted.Written)),
	}
	if apart := int(counted.Read + counted.Written); apart > u.Prompt { // counted beside the prompt, not in it
		u.Prompt += apart
	}
	return u, true
}
