// A request in the format of the Messages interface, and its marks up to which the server caches it.

package anthropic

import (
	"cmp"
	"encoding/json"

	"cairn/llm"
	"cairn/llm/provider"
)

// defaultTokens limits an answer if the request does not: the interface demands a limit.
const defaultTokens = 4096

// body is a request as it is sent. Messages come last: the part that grows is at the end.
type body struct {
	Model      string            `json:"model"`
	MaxTokens  int               `json:"max_tokens"`
	Stream     bool              `json:"stream"`
	Thinking   map[string]string `json:"thinking,omitempty"`
	Output     map[string]string `json:"output_config,omitempty"`
	ToolChoice map[string]string `json:"tool_choice,omitempty"`
	Tools      []tool            `json:"tools,omitempty"`
	System     []any             `json:"system,omitempty"`
	Messages   []message         `json:"messages"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       any             `json:"cache_control,omitempty"`
}

type message struct {
	Role    llm.Role `json:"role"`
	Content []any    `json:"content"` // *block, or json.RawMessage for thinking
}

// block is a part of a message other than thinking.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Source    any             `json:"source,omitempty"` // of a picture
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   any             `json:"content,omitempty"` // of a result, see resultContent
	Cache     any             `json:"cache_control,omitempty"`
}

// composed is a request with what is known about it.
type composed struct {
	body
	room int               // of MaxTokens: for thinking, in addition to what the caller asked for
	mark map[string]string // as each is
}

// Compose implements provider.Protocol.
func (m *Model) Compose(p provider.Plan) provider.Form {
	author := p.Author
	if p.Reasoning == "none" {
		author = "" // no thinking is returned
	}
	conversation := converse(p.Request, author)
	c := composed{
		body: body{Model: p.Model, Stream: true, System: conversation.system, Messages: conversation.messages},
		mark: map[string]string{"type": "ephemeral"},
	}
	if m.CacheTTL() == longTTL {
		c.mark["ttl"] = "1h"
	}
	for _, t := range p.Tools {
		c.Tools = append(c.Tools, tool{Name: t.Name, Description: t.Description, Schema: provider.Schema(t)})
	}
	c.think(p)
	c.MaxTokens = cmp.Or(max(p.MaxTokens, 0), defaultTokens) + c.room
	if p.Longest > 0 {
		c.MaxTokens = min(c.MaxTokens, p.Longest)
	}
	if thinks := c.Thinking != nil && c.Thinking["type"] != disabled; p.Forced && !thinks {
		c.ToolChoice = map[string]string{"type": "tool", "name": p.ForceTool}
	}
	if !p.Refused["cache_control"] {
		c.setMarks(conversation.marked)
	}
	return provider.Form{
		Wire: llm.WireMessages, Address: m.Options.BaseURL + "/v1/messages", Body: c.body,
		Reader: &answer{Answer: p.Answer, author: p.Author},
		Forced: c.ToolChoice != nil, Effort: c.Output["effort"], Tokens: c.MaxTokens, MayReason: c.Thinking == nil && c.room == 0,
	}
}

// setMarks sets at most four marks, the interface's maximum: after the tools and the system prompt, the head, the last
// message of the previous request, and the last message. The server searches only 20 blocks back from a mark, so the
// third one finds a prefix that a long tool step would hide.
func (c *composed) setMarks(useful []*block) {
	if last := len(c.System) - 1; last >= 0 {
		c.System[last].(*block).Cache = c.mark
	} else if last := len(c.Tools) - 1; last >= 0 {
		c.Tools[last].Cache = c.mark
	}
	for i, b := range useful {
		if i == 0 || i >= len(useful)-2 {
			b.Cache = c.mark
		}
	}
}
