// Requests of Responses. The server stores nothing: each request contains the whole conversation,
// and the encrypted reasoning of the running turn.

package openai

import (
	api "github.com/sashabaranov/go-openai"

	"cairn/llm"
)

// leastOutput is the minimum of max_output_tokens.
const leastOutput = 16

// breakpoint marks a place in the prompt up to which OpenAI caches. A later request reads the cache
// only if it has a mark at the same place.
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

// responses returns the request on Responses.
func (p plan) responses(req llm.Request) responsesBody {
	b := responsesBody{Model: p.model, Stream: true, Input: []any{}, cacheFields: p.cacheFields(req)}
	for _, t := range req.Tools {
		b.Tools = append(b.Tools, responsesTool{api.ToolTypeFunction, functionOf(t), false})
	}
	messages, head := withoutBlank(req.Messages, req.Head)
	marks := p.marks(messages, head)
	for i, s := range spans(messages) {
		if i == 0 && s[0].Role == llm.RoleSystem {
			b.Instructions = joined(s.parts())
		} else {
			b.Input = append(b.Input, p.items(s, marks)...)
		}
		if !s.isPlaceholder() {
			marks = marks[len(s):]
		}
	}
	if !p.Refused[fieldInclude.Name] {
		b.Include = []string{"reasoning.encrypted_content"}
	}
	b.ToolChoice = p.choice(req, map[string]string{"type": "function", "name": req.ForceTool})
	if req.MaxTokens > 0 {
		b.Limit = max(p.answerTokens(req), leastOutput)
	}
	if effort := p.effort(req.Reasoning); effort != "" {
		b.Reasoning = map[string]string{"effort": effort}
	}
	return b
}

// marks reports for each message whether there is a breakpoint after it: after the head, and after
// everything that was the end of an earlier request. A request writes only the latest three, and reads
// from any.
func (p plan) marks(messages []llm.Message, head int) []bool {
	marked := make([]bool, len(messages))
	headEnd := -1 // only users and tools have breakpoints
	for i, m := range messages {
		next := llm.RoleAssistant
		if i+1 < len(messages) {
			next = messages[i+1].Role
		}
		user, tool := m.Role == llm.RoleUser, m.Role == llm.RoleTool
		marked[i] = p.breakpoints && i >= head && (user && next == llm.RoleAssistant || tool && next != llm.RoleTool)
		if i < head && (user || tool) {
			headEnd = i
		}
	}
	if headEnd >= 0 {
		marked[headEnd] = p.breakpoints
	}
	return marked
}

// items returns the input items for a span. marked reports whether a breakpoint follows a message.
func (p plan) items(s span, marked []bool) []any {
	switch m := s[len(s)-1]; m.Role {
	case llm.RoleAssistant:
		return p.assistantItems(s)
	case llm.RoleTool:
		output := any(m.Text)
		if marked[0] && m.Text != "" {
			output = []part{{Type: "input_text", Text: m.Text, Mark: breakpoint}}
		}
		return []any{inputItem{Type: "function_call_output", CallID: m.CallID, Output: output}}
	default:
		item := inputItem{Type: "message", Role: m.Role}
		for i := range s {
			// Only the last message may represent an empty span.
			if len(s) > 1 && s[i].Text == "" && len(s[i].Images) == 0 && (i < len(s)-1 || len(item.Content) > 0) {
				continue
			}
			for _, one := range s[i : i+1].parts() {
				content := part{Type: "input_text", Text: one.Text}
				if isPicture(one) {
					content = part{Type: "input_image", Image: dataURL(one)}
				}
				item.Content = append(item.Content, content)
			}
			if !s.isPlaceholder() && marked[i] {
				item.Content[len(item.Content)-1].Mark = breakpoint
			}
		}
		return []any{item}
	}
}

// assistantItems returns the text and the calls of an assistant, each after the reasoning that led
// to it.
func (p plan) assistantItems(s span) (items []any) {
	m := s[len(s)-1]
	native := readNative(m.Native, p.provider).Items
	reasoning := func(calls int, text bool) {
		for _, r := range native {
			if r.Calls == calls && r.Text == text {
				items = append(items, r.Item)
			}
		}
	}
	text := joined(s.parts())
	if text != "" {
		reasoning(0, false)
		items = append(items, inputItem{Type: "message", Role: llm.RoleAssistant, Content: []part{{Type: "output_text", Text: text}}})
	}
	for i, call := range m.Calls {
		if text == "" || i > 0 { // otherwise it precedes the text
			reasoning(i, false)
		}
		reasoning(i, true)
		items = append(items, inputItem{Type: "function_call", CallID: call.ID, Name: call.Name, Arguments: llm.ValidArguments(call.Arguments)})
	}
	return items
}
