// What a server counted.

package openai

import (
	"encoding/json"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// details is how much of the prompt was read from and written to the cache.
type details struct {
	Cached  provider.Tokens `json:"cached_tokens"`
	Written provider.Tokens `json:"cache_write_tokens"`
}

// readUsage parses the usage of either wire; ok is false if there is none.
func readUsage(raw json.RawMessage) (u llm.Usage, ok bool) {
	var counted *struct {
		Prompt     provider.Tokens `json:"prompt_tokens"`
		Completion provider.Tokens `json:"completion_tokens"`
		Details    details         `json:"prompt_tokens_details"`
		// Responses.
		Input        provider.Tokens `json:"input_tokens"`
		Output       provider.Tokens `json:"output_tokens"`
		InputDetails details         `json:"input_tokens_details"`
		Hit          provider.Tokens `json:"prompt_cache_hit_tokens"` // DeepSeek
		// Servers in front of Claude.
		Read    provider.Tokens `json:"cache_read_input_tokens"`
		Written provider.Tokens `json:"cache_creation_input_tokens"`
	}
	// A field of another type stays 0.
	_ = json.Unmarshal(raw, &counted)
	if counted == nil {
		return llm.Usage{}, false
	}
	u = llm.Usage{
		Prompt:     int(max(counted.Prompt, counted.Input)),
		Completion: int(max(counted.Completion, counted.Output)),
		Cached:     int(max(counted.Details.Cached, counted.InputDetails.Cached, counted.Read, counted.Hit)),
		Written:    int(max(counted.Details.Written, counted.InputDetails.Written, counted.Written)),
	}
	if apart := int(counted.Read + counted.Written); apart > u.Prompt { // counted separately from the prompt
		u.Prompt += apart
	}
	u.Cached = min(u.Cached, u.Prompt)
	u.Written = min(u.Written, u.Prompt-u.Cached)
	return u, true
}
