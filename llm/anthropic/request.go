// A request in the format of the Messages interface.

package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"cairn/llm"
)

// defaultTokens limits an answer if the request does not: the interface demands a limit.
const defaultTokens = 4096

// body is a request as it is sent. Messages come last: the part that grows is at the end.
type body struct {
	Model       string        `json:"model"`
	MaxTokens   int           `json:"max_tokens"`
	Stream      bool          `json:"stream"`
	Thinking    *thinking     `json:"thinking,omitempty"`
	Output      *outputConfig `json:"output_config,omitempty"`
	Temperature *float64      `json:"temperature,omitempty"`
	ToolChoice  *toolChoice   `json:"tool_choice,omitempty"`
	Tools       []tool        `json:"tools,omitempty"`
	System      []any         `json:"system,omitempty"`
	Messages    []message     `json:"messages"`
}

type thinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens,omitempty"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       *cacheControl   `json:"cache_control,omitempty"`
}

type message struct {
	Role    llm.Role `json:"role"`
	Content []any    `json:"content"` // *block, or json.RawMessage for thinking
}

// block is a part of a message other than thinking.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Source    *source         `json:"source,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
	Cache     *cacheControl   `json:"cache_control,omitempty"`
}

// source is the picture of a block.
type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

// composed is a request with what adapt needs to know about it.
type composed struct {
	body
	room     int  // of MaxTokens: for thinking, in addition to what the caller asked for
	thoughts bool // some thinking is returned
	alive    func()
}

// compose converts req, without what the server refused before or in this attempt.
func (m *Model) compose(model string, req llm.Request, only exceptions) composed {
	m.mu.Lock()
	limits := m.limits.clone()
	m.mu.Unlock()

	identity := m.Host + " " + model
	if req.Reasoning == "none" || only.noThoughts || only.noThinking {
		identity = "" // no thinking is returned
	}
	conversation := converse(req.Messages, identity)
	c := composed{
		body:     body{Model: model, Stream: true, System: conversation.system, Messages: conversation.messages, Tools: tools(req.Tools)},
		thoughts: conversation.thoughts,
		alive:    req.Alive,
	}
	c.think(req, limits, only)
	c.limitTokens(req.MaxTokens, limits, only)
	thinks := c.Thinking != nil && c.Thinking.Type != "disabled"
	if req.Temperature != nil && !thinks && !limits.noTemperature { // only the default is accepted while thinking
		c.Temperature = req.Temperature
	}
	if req.ForceTool != "" && !thinks && !m.Learnt().Facts().RefusesForced {
		c.ToolChoice = &toolChoice{Type: "tool", Name: req.ForceTool}
	}
	if !limits.noMarks {
		c.mark(conversation, req, m.cacheControl(limits))
	}
	return c
}

// limitTokens sets the limit of the answer. Thinking counts as answer, so it gets additional room.
func (c *composed) limitTokens(asked int, limits limits, only exceptions) {
	if asked <= 0 {
		asked = defaultTokens
	}
	if only.fewerTokens > 0 {
		c.room = max(min(c.room, only.fewerTokens-asked), 0)
	}
	c.MaxTokens = asked + c.room
	if limits.maxTokens > 0 && c.MaxTokens > limits.maxTokens {
		c.MaxTokens = limits.maxTokens
		c.room = max(c.MaxTokens-asked, 0)
	}
	if c.Thinking == nil || c.Thinking.Budget == 0 {
		return
	}
	// The budget must be smaller than the limit, and at least 1024.
	if c.Thinking.Budget = min(c.Thinking.Budget, c.room); c.Thinking.Budget < leastBudget {
		c.Thinking = nil
	}
}

func tools(offered []llm.Tool) []tool {
	var out []tool
	for _, t := range offered {
		schema := t.Parameters
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out = append(out, tool{Name: t.Name, Description: t.Description, Schema: schema})
	}
	return out
}

// encode returns a request as JSON, with extra replacing its fields.
func encode(b body, extra map[string]any) ([]byte, error) {
	raw, err := marshal(b)
	if err != nil || len(extra) == 0 {
		return raw, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	merged := make(map[string]any, len(fields)+len(extra))
	for name, value := range fields {
		merged[name] = value
	}
	maps.Copy(merged, extra)
	return marshal(merged)
}

// marshal is json.Marshal without HTML escapes, which take tokens.
func marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
