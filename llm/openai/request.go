// How a request is put into the words of the chat protocol.

package openai

import (
	"encoding/json"
	"maps"
	"slices"

	api "github.com/sashabaranov/go-openai"

	"cairn/llm"
)

// composed is a request as it will be sent: what the library can say, and what
// has to be laid over its JSON because it cannot.
type composed struct {
	chat   api.ChatCompletionRequest
	native []native       // what goes back to the provider, by index of chat.Messages
	fields map[string]any // of the body

	maxTokens int // of the answer; 0: none was set
}

// compose translates req. With usage set, the server is asked to count tokens.
func (o *Model) compose(model string, req llm.Request, usage bool) composed {
	c := composed{
		chat:   api.ChatCompletionRequest{Model: model, Tools: protocolTools(req.Tools)},
		fields: map[string]any{},

		maxTokens: req.MaxTokens,
	}
	for _, m := range joinUsers(req.Messages) {
		c.chat.Messages = append(c.chat.Messages, protocolMessage(m))
		c.native = append(c.native, readNative(m.Native, o.host))
	}
	if usage {
		c.chat.StreamOptions = &api.StreamOptions{IncludeUsage: true}
	}
	if req.ForceTool != "" {
		c.chat.ToolChoice = api.ToolChoice{
			Type:     api.ToolTypeFunction,
			Function: api.ToolFunction{Name: req.ForceTool},
		}
	}
	// The library checks the effort against the tools before it sends anything.
	c.chat.ReasoningEffort, _ = req.Extra["reasoning_effort"].(string)
	// Of these the library leaves out a zero, or forbids some for models by name.
	if req.MaxTokens > 0 {
		c.fields[o.maxTokensField()] = req.MaxTokens
	}
	if req.Temperature != nil {
		c.fields["temperature"] = *req.Temperature
	}
	maps.Copy(c.fields, req.Extra)
	return c
}

// maxTokensField names the bound of an answer: OpenAI's newer models refuse the
// old name, and most other servers know no other.
func (o *Model) maxTokensField() string {
	if o.host == openAIHost {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

// joinUsers makes one of neighbours in user role: many models' templates refuse two
// speakers of one role in a row.
func joinUsers(messages []llm.Message) []llm.Message {
	joined := make([]llm.Message, 0, len(messages))
	for _, m := range messages {
		if last := len(joined) - 1; last >= 0 && m.Role == llm.RoleUser && joined[last].Role == llm.RoleUser {
			joined[last].Text += "\n\n" + m.Text
			joined[last].Images = slices.Concat(joined[last].Images, m.Images)
			continue
		}
		joined = append(joined, m)
	}
	return joined
}

func protocolMessage(m llm.Message) api.ChatCompletionMessage {
	message := api.ChatCompletionMessage{Role: string(m.Role), ToolCallID: m.CallID}
	if message.Content = m.Text; m.Role == llm.RoleUser {
		message.Content, message.MultiContent = protocolContent(m.Text, m.Images)
	}
	for _, call := range m.Calls {
		message.ToolCalls = append(message.ToolCalls, api.ToolCall{
			ID:       call.ID,
			Type:     api.ToolTypeFunction,
			Function: api.FunctionCall{Name: call.Name, Arguments: llm.ValidArguments(call.Arguments)},
		})
	}
	return message
}

func protocolTools(tools []llm.Tool) []api.Tool {
	var protocol []api.Tool
	for _, tool := range tools {
		parameters := tool.Parameters
		if len(parameters) == 0 {
			parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		protocol = append(protocol, api.Tool{
			Type:     api.ToolTypeFunction,
			Function: &api.FunctionDefinition{Name: tool.Name, Description: tool.Description, Parameters: parameters},
		})
	}
	return protocol
}
