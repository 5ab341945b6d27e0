// Requests of chat completions.

package openai

import (
	"slices"
	"time"

	api "github.com/sashabaranov/go-openai"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// chatBody is a request. What rarely changes is first: a later request of the same conversation
// extends this one's messages.
type chatBody struct {
	Model         string             `json:"model"`
	Tools         []chatTool         `json:"tools,omitempty"`
	Messages      []any              `json:"messages"`
	Stream        bool               `json:"stream"`
	StreamOptions *api.StreamOptions `json:"stream_options,omitempty"`
	ToolChoice    any                `json:"tool_choice,omitempty"`
	Limit         int                `json:"max_tokens,omitempty"`
	NewLimit      int                `json:"max_completion_tokens,omitempty"`
	Effort        string             `json:"reasoning_effort,omitempty"`
	cacheFields
	CacheControl *cacheControl `json:"cache_control,omitempty"`
}

// cacheControl enables the cache of a Claude model behind OpenRouter.
type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

func functionOf(t llm.Tool) api.FunctionDefinition {
	return api.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: provider.Schema(t)}
}

// chatTool is an api.Tool without its MarshalJSON, which escapes HTML.
type chatTool struct {
	Type     api.ToolType           `json:"type"`
	Function api.FunctionDefinition `json:"function"`
}

// cacheFields are the fields of OpenAI's prompt cache.
type cacheFields struct {
	Key       string `json:"prompt_cache_key,omitempty"`
	Retention string `json:"prompt_cache_retention,omitempty"`
}

type chatMessage struct {
	Role    llm.Role `json:"role"`
	Content any      `json:"content"` // a text, or []part
	CallID  string   `json:"tool_call_id,omitempty"`
	Calls   []any    `json:"tool_calls,omitempty"`
}

// part is a part of a message on either wire.
type part struct {
	Type  string `json:"type"`
	Text  any    `json:"text,omitempty"`
	Image any    `json:"image_url,omitempty"`
	Mark  any    `json:"prompt_cache_breakpoint,omitempty"`
}

// dataURL returns a picture as a URL.
func dataURL(p provider.Piece) string { return "data:" + p.MediaType + ";base64," + p.Data }

// chat returns the request on chat completions.
func (p plan) chat(req llm.Request) chatBody {
	b := chatBody{Model: p.model, Stream: true, Effort: p.effort(req.Reasoning), cacheFields: p.cacheFields(req)}
	for _, t := range req.Tools {
		b.Tools = append(b.Tools, chatTool{api.ToolTypeFunction, functionOf(t)})
	}
	for _, t := range provider.Turns(req.Messages, req.Head) {
		b.Messages = append(b.Messages, p.chatMessage(t))
	}
	if !p.Refused[fieldStream] {
		b.StreamOptions = &api.StreamOptions{IncludeUsage: true}
	}
	b.ToolChoice = p.choice(req, api.ToolChoice{Type: api.ToolTypeFunction, Function: api.ToolFunction{Name: req.ForceTool}})
	// OpenAI's newer models refuse the old name of the limit, and most other servers know no other.
	if b.Limit = p.answerTokens(req); p.host == openAIHost || p.Refused[fieldLimit] {
		b.Limit, b.NewLimit = 0, b.Limit
	}
	if p.claude {
		b.CacheControl = &cacheControl{Type: "ephemeral"}
		if p.ttl > 5*time.Minute {
			b.CacheControl.TTL = "1h"
		}
	}
	return b
}

// choice returns the choice of the tool that must be called: forced, unless the server refuses that;
// nil if there is none.
func (p plan) choice(req llm.Request, forced any) any {
	switch {
	case req.ForceTool == "" || len(req.Tools) == 0:
		return nil
	case !p.forced:
		return "auto"
	}
	return forced
}

// cacheFields returns the fields of OpenAI's prompt cache, which only OpenAI supports.
func (p plan) cacheFields(req llm.Request) (f cacheFields) {
	if p.host == openAIHost && !p.Refused[fieldCacheKey] {
		f.Key = req.CacheKey
	}
	if p.retention {
		f.Retention = "24h"
	}
	return f
}

// chatMessage returns the message for a turn.
func (p plan) chatMessage(t provider.Turn) any {
	m := chatMessage{Role: t.Role, Content: t.Joined(), CallID: t.CallID}
	if slices.ContainsFunc(t.Content, provider.Piece.IsPicture) {
		content := make([]part, len(t.Content))
		for i, one := range t.Content {
			content[i] = part{Type: "text", Text: one.Text}
			if one.IsPicture() {
				content[i] = part{Type: "image_url", Image: map[string]string{"url": dataURL(one)}}
			}
		}
		m.Content = content
	}
	n := readNative(t.Native, p.provider)
	for _, call := range t.Calls {
		c := api.ToolCall{ID: call.ID, Type: api.ToolTypeFunction, Function: api.FunctionCall{Name: call.Name, Arguments: llm.ValidArguments(call.Arguments)}}
		m.Calls = append(m.Calls, withFields(c, n.Calls[call.ID]))
	}
	return withFields(m, n.Fields)
}
