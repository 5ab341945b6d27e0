// Behaviour of models, as documented by their providers: for tests of whole conversations.

package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"cairn/llm"
)

// Profile is the behaviour of one model on a Server, see Behave.
type Profile struct {
	Model   string
	Window  int    // tokens of prompt and response
	Thought string // reasoning before an answer, if the model thinks

	wires    []string
	effort   string                 // of reasoning by default; "never": it has none
	refuses  func(r Request) string // why a valid request is rejected; "": it is not; nil: none is
	requires reasoningRule
	bound    bool // it always thinks, and its thinking is bound to what preceded it, see unbound
	cache    cacheRule
}

// reasoningRule is which calls require the reasoning before them to be sent back.
type reasoningRule int

const (
	requiresNone    reasoningRule = iota
	requiresCurrent               // calls of the current turn
	requiresAll                   // all calls
)

var (
	onChat, onOpenAI = []string{llm.WireChat}, []string{llm.WireChat, llm.WireResponses}

	breakpoints = cacheRule{kind: cacheBreakpoints, minTokens: 1024}
	anyPrefix   = cacheRule{kind: cachePrefix, minTokens: 1, step: 1}
)

var profiles = []Profile{
	{Model: "gpt-6-astra", wires: onOpenAI, requires: requiresCurrent, effort: "medium", refuses: chatWithoutTools, cache: breakpoints},
	{Model: "gpt-5.6-terra", wires: onOpenAI, requires: requiresCurrent, effort: "medium", refuses: chatToolsUnthinking, cache: breakpoints},
	{Model: "gpt-5.1", wires: onOpenAI, requires: requiresCurrent, effort: "none", cache: cacheRule{kind: cachePrefix, minTokens: 1024, step: 128}},
	{Model: "claude-sonnet-4-6", wires: []string{llm.WireMessages}, requires: requiresCurrent, cache: cacheRule{kind: cacheMarks, minTokens: 1024}},
	{Model: "claude-fable-5-1", wires: []string{llm.WireMessages}, requires: requiresCurrent, bound: true, cache: cacheRule{kind: cacheMarks, minTokens: 1024}},
	{Model: "qwen3", wires: onChat, effort: "medium", cache: anyPrefix},
	{Model: "gemma", wires: onChat, effort: "never", refuses: gemmaTemplate, cache: anyPrefix},
	{Model: "deepseek-v4", wires: onChat, requires: requiresAll, effort: "medium", cache: cacheRule{kind: cacheUnits, minTokens: 64, step: 64}},
}

// thinks reports whether the model reasons before its answer to r.
func (p Profile) thinks(r Request) bool {
	switch {
	case r.Wire == llm.WireMessages:
		return p.bound || thinksOnMessages(r)
	case p.effort == "never", r.Wire == llm.WireChat && slices.Contains(p.wires, llm.WireResponses):
		return false
	}
	return cmp.Or(effort(r), p.effort) != "none"
}

// ProfileOf returns the behaviour of a model: gpt-6-astra, gpt-5.6-terra, gpt-5.1, claude-sonnet-4-6, claude-fable-5-1,
// qwen3, gemma or deepseek-v4. The caller may change Window and Thought. It panics for other models.
func ProfileOf(model string) Profile {
	for _, p := range profiles {
		if p.Model == model {
			p.Window = 128_000
			p.Thought = "The user wants something. I look at it from all sides and decide."
			return p
		}
	}
	panic("llmtest: no profile of " + model)
}

// Profiles returns the models that ProfileOf accepts.
func Profiles() (models []string) {
	for _, p := range profiles {
		models = append(models, p.Model)
	}
	return models
}

// Behave makes the server behave like these models. It lists them, responds 404 for all others, rejects what they
// reject, adds their reasoning before the script's responses, and counts tokens as they do.
func (s *Server) Behave(models ...Profile) {
	list := []map[string]any{}
	for _, p := range models {
		list = append(list, map[string]any{"id": p.Model, "object": "model", "context_length": p.Window, "max_input_tokens": p.Window})
	}
	s.Tell("/v1/models", encode(map[string]any{"data": list}))
	s.change(func() { s.profiles = models })
}

// rejection is the error for a valid request that the model does not accept.
type rejection struct {
	status        int
	code, message string
}

func refused(format string, args ...any) *rejection {
	return &rejection{http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...)}
}

// judge returns why the model rejects r; nil if it accepts it.
func (p Profile) judge(r Request, prompt int) *rejection {
	if !slices.Contains(p.wires, r.Wire) {
		return &rejection{http.StatusNotFound, "not_found_error", "404 page not found"}
	}
	if p.refuses != nil && p.refuses(r) != "" {
		return refused("%s", p.refuses(r))
	}
	if p.Window == 0 || prompt+r.MaxTokens <= p.Window {
		return nil
	}
	return &rejection{http.StatusBadRequest, "context_length_exceeded", fmt.Sprintf(
		"This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion).",
		p.Window, prompt+r.MaxTokens, prompt, r.MaxTokens)}
}

// effort returns the reasoning effort that a request sets; "" if none.
func effort(r Request) string {
	var chat string
	var responses struct{ Effort string }
	_ = json.Unmarshal(r.Body["reasoning_effort"], &chat) // an invalid effort counts as none
	_ = json.Unmarshal(r.Body["reasoning"], &responses)
	return cmp.Or(chat, responses.Effort)
}

func thinksOnMessages(r Request) bool {
	var thinking struct{ Type string }
	_ = json.Unmarshal(r.Body["thinking"], &thinking) // already validated
	return thinking.Type != "" && thinking.Type != "disabled"
}

func chatWithoutTools(r Request) string {
	if r.Wire != llm.WireChat || len(r.Tools) == 0 {
		return ""
	}
	return "Function tools are not supported for " + r.Model + " in /v1/chat/completions. Please use /v1/responses instead."
}

func chatToolsUnthinking(r Request) string {
	if effort(r) == "none" || chatWithoutTools(r) == "" {
		return ""
	}
	return "Function tools with reasoning_effort are not supported for " + r.Model +
		" in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."
}

// gemmaTemplate accepts only users and models; a system prompt goes into the first message.
func gemmaTemplate(r Request) string {
	if len(r.Tools) > 0 {
		return "gemma does not support tools"
	}
	for _, m := range r.Messages {
		if m.Role == llm.RoleTool || len(m.ToolCalls) > 0 {
			return "Conversation roles must alternate user/assistant/user/assistant/..."
		}
	}
	return ""
}

// missingReasoning returns the rejection of a request without the reasoning before a call.
func missingReasoning(r Request, at int) *rejection {
	switch r.Wire {
	case llm.WireMessages:
		return refused("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. "+
			"When `thinking` is enabled, a final `assistant` message must start with a thinking block", at)
	case llm.WireResponses:
		return refused("Item 'fc_%d' of type 'function_call' was provided without its required 'reasoning' item", at)
	}
	return refused("The `reasoning_content` in the thinking mode must be passed back to the API (message index %d).", at)
}

// reasoningText returns the reasoning in a message.
func reasoningText(m Message) (all string) {
	for _, p := range m.pieces {
		if p.reasoning {
			all += p.text
		}
	}
	return all
}
