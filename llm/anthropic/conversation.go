// The messages of a request: the interface demands that roles alternate, that the user is first,
// and that results follow their calls immediately.

package anthropic

import (
	"encoding/json"
	"strings"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// placeholder is the text of a user message where the interface demands one and there is none.
const placeholder = "(continued)"

// conversation is a request's messages in the interface's format.
type conversation struct {
	system   []any // *block
	messages []message
	ends     []*block // by index of the llm messages: the last block up to there that may have a cache mark; nil: none
}

// converse converts messages. Thinking is returned only to identity, which made it, and only within
// the running tool loop; identity "" returns none.
func converse(messages []llm.Message, identity string) conversation {
	c := conversation{ends: make([]*block, len(messages))}
	loop := loopStart(messages)
	var end *block
	for i, m := range messages {
		before := end
		switch m.Role {
		case llm.RoleSystem:
			if strings.TrimSpace(m.Text) != "" {
				end = &block{Type: "text", Text: m.Text}
				c.system = append(c.system, end)
			}
		case llm.RoleAssistant:
			var thoughts []thought
			if i >= loop {
				thoughts = returned(m, identity)
			}
			for _, b := range assistantBlocks(m, thoughts) {
				end = c.add(llm.RoleAssistant, b, end)
			}
		case llm.RoleTool:
			end = c.add(llm.RoleUser, &block{Type: "tool_result", ToolUseID: m.CallID, Content: m.Text}, end)
		default:
			for _, b := range userBlocks(m) {
				end = c.add(llm.RoleUser, b, end)
			}
		}
		if c.ends[i] = end; end == before && i > 0 {
			c.ends[i] = c.ends[i-1]
		}
	}
	if last := len(c.messages) - 1; last < 0 || c.messages[last].Role != llm.RoleUser {
		c.add(llm.RoleUser, &block{Type: "text", Text: placeholder}, nil)
	}
	return c
}

// add appends b to the last message, or starts one. It returns the last block that may have a cache
// mark: end if b may not.
func (c *conversation) add(role llm.Role, b any, end *block) *block {
	if len(c.messages) == 0 && role != llm.RoleUser {
		c.add(llm.RoleUser, &block{Type: "text", Text: placeholder}, nil)
	}
	last := len(c.messages) - 1
	if last < 0 || c.messages[last].Role != role {
		c.messages = append(c.messages, message{Role: role})
		last++
	}
	c.messages[last].Content = append(c.messages[last].Content, b)
	if marked, ok := b.(*block); ok {
		return marked
	}
	return end
}

// loopStart returns the index of the first message of the running tool loop, which follows the last
// user message that does not follow a tool result.
func loopStart(messages []llm.Message) int {
	start := 0
	var before llm.Role // of the last message that is not a user's
	for i, m := range messages {
		switch {
		case m.Role != llm.RoleUser:
			before = m.Role
		case before != llm.RoleTool:
			start = i + 1
		}
	}
	return start
}

// assistantBlocks returns the blocks of an answer in their original order.
func assistantBlocks(m llm.Message, thoughts []thought) (blocks []any) {
	text, calls := 0, 0
	write := func(toText, toCalls int) {
		if part := m.Text[text:toText]; strings.TrimSpace(part) != "" {
			blocks = append(blocks, &block{Type: "text", Text: part})
		}
		for _, call := range m.Calls[calls:toCalls] {
			blocks = append(blocks, &block{Type: "tool_use", ID: call.ID, Name: call.Name, Input: json.RawMessage(llm.ValidArguments(call.Arguments))})
		}
		text, calls = toText, toCalls
	}
	for _, t := range thoughts {
		write(min(max(t.Text, text), len(m.Text)), min(max(t.Calls, calls), len(m.Calls)))
		blocks = append(blocks, t.Block)
	}
	write(len(m.Text), len(m.Calls))
	return blocks
}

// userBlocks returns a user's pictures, each after its label, and then the text.
func userBlocks(m llm.Message) (blocks []any) {
	for _, part := range provider.Parts(m) {
		switch {
		case part.MediaType != "":
			blocks = append(blocks, &block{Type: "image", Source: &source{Type: "base64", MediaType: part.MediaType, Data: part.Data}})
		case strings.TrimSpace(part.Text) != "":
			blocks = append(blocks, &block{Type: "text", Text: part.Text})
		}
	}
	return blocks
}
