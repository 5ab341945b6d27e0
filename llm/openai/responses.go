// Requests of Responses. The server stores nothing: each has the whole conversation, and encrypted reasoning of the turn.

package openai

import (
	api "github.com/sashabaranov/go-openai"

	"cairn/llm"
	"cairn/llm/provider"
)

const leastOutput = 16

// breakpoint marks a place up to which OpenAI caches. A later request must have a mark at the same place.
var breakpoint = map[string]string{"mode": "explicit"}

// responsesBody is a request. What rarely changes is first, as in chatBody.
type responsesBody struct {
	Model        string          `json:"model"`
	Tools        []responsesTool `json:"tools,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	Input        []any           `json:"input"`
	Stream       bool            `json:"stream"`
	Store        bool            `json:"store"`
	Include      []string        `json:"include,omitempty"`
	ToolChoice   any             `json:"tool_choice,omitempty"`
	Limit        int             `json:"max_output_tokens,omitempty"`
	Reasoning    any             `json:"reasoning,omitempty"`
	cacheFields
}

type responsesTool struct {
	Type api.ToolType `json:"type"`
	api.FunctionDefinition
	Strict bool `json:"strict"` // omitted means true
}

// inputItem is a message, a call or the result of one.
type inputItem struct {
	Type      string   `json:"type"`
	Role      llm.Role `json:"role,omitempty"`
	Content   []part   `json:"content,omitempty"`
	CallID    string   `json:"call_id,omitempty"`
	Name      string   `json:"name,omitempty"`
	Arguments string   `json:"arguments,omitempty"`
	Output    any      `json:"output,omitempty"` // a text, or []part
}

func (p plan) responses() responsesBody {
	b := responsesBody{Model: p.Model, Stream: true, Input: []any{}, cacheFields: p.cacheFields}
	for _, t := range p.Tools {
		b.Tools = append(b.Tools, responsesTool{api.ToolTypeFunction, functionOf(t), false})
	}
	for i, t := range provider.Turns(p.Messages, p.Head) {
		if i == 0 && t.Role == llm.RoleSystem {
			b.Instructions = t.Joined()
		} else {
			b.Input = append(b.Input, p.items(t)...)
		}
	}
	if !p.Refused["include"] {
		b.Include = []string{"reasoning.encrypted_content"}
	}
	b.ToolChoice = p.choice(map[string]string{"type": "function", "name": p.ForceTool})
	if p.MaxTokens > 0 {
		b.Limit = max(p.limit, leastOutput)
	}
	if p.Effort != "" {
		b.Reasoning = map[string]string{"effort": p.Effort}
	}
	return b
}

func (p plan) items(t provider.Turn) []any {
	if t.Role == llm.RoleAssistant {
		return p.assistantItems(t)
	}
	var content []part
	marked := false
	for i, one := range t.Content {
		if i == 0 && one.Text == "" && len(t.Content) > 1 && !one.IsPicture() { // a result of pictures alone
			continue
		}
		item := part{Type: "input_text", Text: one.Text}
		if one.IsPicture() {
			item = part{Type: "input_image", Image: dataURL(one)}
		}
		if one.Marked && (one.Text != "" || one.IsPicture()) && p.breakpoints {
			item.Mark = breakpoint
			marked = true
		}
		content = append(content, item)
	}
	switch {
	case t.Role == llm.RoleTool && !marked && len(t.Content) == 1:
		return []any{inputItem{Type: "function_call_output", CallID: t.CallID, Output: t.Content[0].Text}}
	case t.Role == llm.RoleTool: // a list may have texts and pictures: https://platform.openai.com/docs/api-reference/responses/create
		return []any{inputItem{Type: "function_call_output", CallID: t.CallID, Output: content}}
	case content == nil:
		content = []part{{Type: "input_text", Text: ""}} // servers refuse an empty message
	}
	return []any{inputItem{Type: "message", Role: t.Role, Content: content}}
}

// assistantItems returns the text and the calls of an assistant, each after the reasoning that led to it.
func (p plan) assistantItems(t provider.Turn) (items []any) {
	native := readNative(t.Native, p.Author).Items
	reasoning := func(calls int, text bool) {
		for _, r := range native {
			if r.Calls == calls && r.Text == text {
				items = append(items, r.Item)
			}
		}
	}
	text := t.Joined()
	if text != "" {
		reasoning(0, false)
		items = append(items, inputItem{Type: "message", Role: llm.RoleAssistant, Content: []part{{Type: "output_text", Text: text}}})
	}
	for i, call := range t.Calls {
		if text == "" || i > 0 { // otherwise it precedes the text
			reasoning(i, false)
		}
		reasoning(i, true)
		items = append(items, inputItem{Type: "function_call", CallID: call.ID, Name: call.Name, Arguments: llm.ValidArguments(call.Arguments)})
	}
	return items
}
