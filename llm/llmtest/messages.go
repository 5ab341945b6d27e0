// Messages: what a strict provider accepts.

package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn/llm"
)

type messagesDialect struct{}

var _ dialect = messagesDialect{}

var messagesFields = []string{
	"model", "messages", "max_tokens", "system", "tools", "tool_choice", "stream", "temperature", "top_k", "top_p",
	"stop_sequences", "thinking", "output_config", "metadata", "service_tier", "cache_control",
}

// messagesBody are the fields of a request that are checked or shown in a Request.
type messagesBody struct {
	Model     string
	MaxTokens *int `json:"max_tokens"`
	System    []map[string]json.RawMessage
	Messages  []struct {
		Role    llm.Role
		Content json.RawMessage
	}
	Tools       []map[string]json.RawMessage
	ToolChoice  *struct{ Type, Name string } `json:"tool_choice"`
	Stream      bool
	Temperature *float64
	Thinking    *struct {
		Type   string
		Budget int `json:"budget_tokens"`
	}
	Output *struct{ Effort string } `json:"output_config"`
}

// thinks reports whether the request asks for thinking.
func (b messagesBody) thinks() bool { return b.Thinking != nil && b.Thinking.Type != "disabled" }

func (messagesDialect) parse(body []byte) (Request, error) {
	r := Request{Wire: llm.WireMessages}
	var b messagesBody
	if err := errors.Join(json.Unmarshal(body, &b), json.Unmarshal(body, &r.Body)); err != nil {
		return r, fmt.Errorf("the body is not what the protocol says: %w", err)
	}
	r.Model, r.Stream, r.StreamOptions.IncludeUsage = b.Model, b.Stream, true
	r.size = len(r.Body["messages"]) + len(r.Body["system"]) + len(r.Body["tools"])
	if b.MaxTokens != nil {
		r.MaxTokens = *b.MaxTokens
	}
	if b.ToolChoice != nil && b.ToolChoice.Type == "tool" {
		r.Forced = b.ToolChoice.Name
	}
	if err := errors.Join(unknownField(r.Body, "", messagesFields), b.check()); err != nil {
		return r, err
	}
	reader := blockReader{request: &r}
	if err := reader.readTools(b.Tools); err != nil {
		return r, err
	}
	if err := errors.Join(checkTools(r.Tools), checkForced(r), reader.readSystem(b.System)); err != nil {
		return r, err
	}
	for i, m := range b.Messages {
		if want := []llm.Role{llm.RoleUser, llm.RoleAssistant}[i%2]; m.Role != want {
			return r, fmt.Errorf("messages.%d: role is %q, want %q: roles must alternate between user and assistant, the user first", i, m.Role, want)
		}
		if err := reader.readMessage(m.Role, m.Content); err != nil {
			return r, fmt.Errorf("messages.%d.%w", i, err)
		}
	}
	if reader.marks > 4 {
		return r, fmt.Errorf("a maximum of 4 blocks with cache_control may be provided. Found %d", reader.marks)
	}
	return r, checkMessages(r.Messages)
}

// Models that differ in what they accept, by the beginnings of their names.
var (
	withoutTemperature = []string{"claude-opus-4-7", "claude-opus-4-8", "claude-opus-5", "claude-sonnet-5", "claude-haiku-5", "claude-fable", "claude-mythos"}
	withoutForced      = []string{"claude-opus-5-5", "claude-fable-5-1"}
	withoutAdaptive    = []string{"claude-haiku-4", "claude-sonnet-4-5", "claude-opus-4-5"}
	withoutDisabled    = []string{"claude-fable", "claude-mythos"}
)

func (b messagesBody) is(prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(b.Model, prefix) })
}

// check is about the fields beside messages and tools.
func (b messagesBody) check() error {
	forced := b.ToolChoice != nil && (b.ToolChoice.Type == "tool" || b.ToolChoice.Type == "any")
	switch {
	case b.Model == "":
		return errors.New("model: Field required")
	case b.MaxTokens == nil || *b.MaxTokens < 1:
		return errors.New("max_tokens: Field required")
	case b.ToolChoice != nil && !slices.Contains([]string{"auto", "any", "tool", "none"}, b.ToolChoice.Type):
		return fmt.Errorf("tool_choice: unknown type %q", b.ToolChoice.Type)
	case forced && b.thinks():
		return errors.New("thinking may not be enabled when tool_choice forces tool use")
	case forced && b.is(withoutForced):
		return errors.New("tool_choice: type tool is not supported for this model")
	case b.Temperature != nil && b.is(withoutTemperature):
		return errors.New("`temperature` is deprecated for this model")
	case b.Temperature != nil && *b.Temperature != 1 && b.thinks():
		return errors.New("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode")
	case b.Output != nil && b.is(withoutAdaptive):
		return errors.New("this model does not support the effort parameter")
	case b.Output != nil && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, b.Output.Effort):
		return errors.New("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
	case b.Thinking == nil:
		return nil
	}
	switch b.Thinking.Type {
	case "adaptive":
		if b.is(withoutAdaptive) {
			return errors.New("adaptive thinking is not supported on this model")
		}
	case "enabled":
		if b.Thinking.Budget < 1024 || b.Thinking.Budget >= *b.MaxTokens {
			return errors.New("`max_tokens` must be greater than `thinking.budget_tokens`, which must be at least 1024")
		}
		if b.is(withoutTemperature) {
			return errors.New("thinking.type.enabled is not supported for this model. Use thinking.type.adaptive and output_config.effort")
		}
	case "disabled":
		if b.is(withoutDisabled) {
			return errors.New("thinking.type.disabled is not supported for this model")
		}
	default:
		return fmt.Errorf("thinking.type: unknown value %q", b.Thinking.Type)
	}
	return nil
}
