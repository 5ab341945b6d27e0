// How a request is put into the words of the chat protocol.

package llm

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// composed is a request as it will be sent: what the library can say, and what
// has to be laid over its JSON because it cannot.
type composed struct {
	chat   openai.ChatCompletionRequest
	native []native       // what goes back to the provider, by index of chat.Messages
	fields map[string]any // of the body

	maxTokens int // of the answer; 0: none was set

	alive func() // see Request.Alive
}

// compose translates req. With usage set, the server is asked to count tokens.
func (o *OpenAI) compose(model string, req Request, usage bool) composed {
	c := composed{
		chat:   openai.ChatCompletionRequest{Model: model, Tools: protocolTools(req.Tools)},
		fields: map[string]any{},

		maxTokens: req.MaxTokens,
		alive:     req.Alive,
	}
	for _, m := range joinUsers(req.Messages) {
		c.chat.Messages = append(c.chat.Messages, protocolMessage(m))
		c.native = append(c.native, readNative(m.Native, o.host))
	}
	if usage {
		c.chat.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	if req.ForceTool != "" {
		c.chat.ToolChoice = openai.ToolChoice{
			Type:     openai.ToolTypeFunction,
			Function: openai.ToolFunction{Name: req.ForceTool},
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
func (o *OpenAI) maxTokensField() string {
	if o.host == openAIHost {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

// joinUsers makes one of neighbours in user role: many models' templates refuse two
// speakers of one role in a row.
func joinUsers(messages []Message) []Message {
	joined := make([]Message, 0, len(messages))
	for _, m := range messages {
		if last := len(joined) - 1; last >= 0 && m.Role == RoleUser && joined[last].Role == RoleUser {
			joined[last].Text += "\n\n" + m.Text
			joined[last].Images = slices.Concat(joined[last].Images, m.Images)
			continue
		}
		joined = append(joined, m)
	}
	return joined
}

func protocolMessage(m Message) openai.ChatCompletionMessage {
	message := openai.ChatCompletionMessage{Role: string(m.Role), ToolCallID: m.CallID}
	if message.Content = m.Text; m.Role == RoleUser {
		message.Content, message.MultiContent = protocolContent(m.Text, m.Images)
	}
	for _, call := range m.Calls {
		message.ToolCalls = append(message.ToolCalls, openai.ToolCall{
			ID:       call.ID,
			Type:     openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: call.Name, Arguments: validArguments(call.Arguments)},
		})
	}
	return message
}

// validArguments keeps a model's broken JSON from breaking every later request:
// servers whose templates parse the arguments refuse the whole conversation.
func validArguments(arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		return "{}"
	}
	if json.Valid([]byte(arguments)) {
		return arguments
	}
	wrapped, err := json.Marshal(map[string]string{"invalid": arguments})
	if err != nil { // a map of strings always has a JSON form
		return "{}"
	}
	return string(wrapped)
}

func protocolTools(tools []Tool) []openai.Tool {
	var protocol []openai.Tool
	for _, tool := range tools {
		parameters := tool.Parameters
		if len(parameters) == 0 {
			parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		protocol = append(protocol, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: tool.Name, Description: tool.Description, Parameters: parameters},
		})
	}
	return protocol
}
