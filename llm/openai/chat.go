// Requests of chat completions.

package openai

import (
	"slices"

	api "github.com/sashabaranov/go-openai"

	"cairn/llm"
	"cairn/llm/provider"
)

// chatBody is a request. What rarely changes is first: a later request extends its messages.
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
	CacheControl map[string]string `json:"cache_control,omitempty"`
}

func functionOf(t llm.Tool) api.FunctionDefinition {
	return api.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: provider.Schema(t)}
}

// chatTool is an api.Tool without its MarshalJSON, which escapes HTML.
type chatTool struct {
	Type     api.ToolType           `json:"type"`
	Function api.FunctionDefinition `json:"function"`
}

type chatMessage struct {
	Role    llm.Role `json:"role"`
	Content any      `json:"content"` // a text, or []part
	CallID  string   `json:"tool_call_id,omitempty"`
	Calls   []any    `json:"tool_calls,omitempty"`
}

type part struct {
	Type  string `json:"type"`
	Text  any    `json:"text,omitempty"`
	Image any    `json:"image_url,omitempty"`
	Mark  any    `json:"prompt_cache_breakpoint,omitempty"`
}

func dataURL(p provider.Piece) string { return "data:" + p.MediaType + ";base64," + p.Data }

func (p plan) chat() chatBody {
	b := chatBody{Model: p.Model, Stream: true, Effort: p.Effort, cacheFields: p.cacheFields, CacheControl: p.cacheControl}
	for _, t := range p.Tools {
		b.Tools = append(b.Tools, chatTool{api.ToolTypeFunction, functionOf(t)})
	}
	// "For tool messages, only type text is supported": https://platform.openai.com/docs/api-reference/chat/create
	for _, t := range provider.PicturesByUser(provider.Turns(p.Messages, p.Head)) {
		b.Messages = append(b.Messages, p.chatMessage(t))
	}
	if !p.Refused["stream_options"] {
		b.StreamOptions = &api.StreamOptions{IncludeUsage: true}
	}
	b.ToolChoice = p.choice(api.ToolChoice{Type: api.ToolTypeFunction, Function: api.ToolFunction{Name: p.ForceTool}})
	// OpenAI's newer models refuse the old name of the limit, and most other servers know no other.
	if p.openAI || p.Refused["max_tokens"] {
		b.NewLimit = p.limit
	} else {
		b.Limit = p.limit
	}
	return b
}

// choice returns the choice of the tool that must be called, "auto" if it cannot be forced; nil if there is none.
func (p plan) choice(forced any) any {
	switch {
	case p.ForceTool == "" || len(p.Tools) == 0:
		return nil
	case !p.Forced:
		return "auto"
	}
	return forced
}

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
	n := readNative(t.Native, p.Author)
	for _, call := range t.Calls {
		c := api.ToolCall{ID: call.ID, Type: api.ToolTypeFunction, Function: api.FunctionCall{Name: call.Name, Arguments: llm.ValidArguments(call.Arguments)}}
		m.Calls = append(m.Calls, withFields(c, n.Calls[call.ID]))
	}
	return withFields(m, n.Fields)
}
