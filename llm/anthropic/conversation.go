// The messages of a request: roles must alternate, a user is first, and results follow their calls immediately.

package anthropic

import (
	"encoding/json"
	"strings"

	"cairn/llm"
	"cairn/llm/provider"
)

// conversation is a request's messages in the interface's format.
type conversation struct {
	system   []any // *block
	messages []message
	marked   []*block // those after which a cache mark is useful: the end of the head, and of each request so far
}

// converse converts messages. Thinking of author in the running tool loop is returned; author "" returns none.
func converse(req llm.Request, author string) (c conversation) {
	turns := provider.Turns(req.Messages, req.Head)
	loop := loopStart(turns)
	for i, t := range turns {
		switch t.Role {
		case llm.RoleAssistant:
			var thoughts []thought
			if i >= loop {
				thoughts = returned(*t.Message, author)
			}
			c.addAnswer(t, thoughts)
		case llm.RoleTool:
			marked := t.Content[len(t.Content)-1].Marked
			c.add(llm.RoleUser, &block{Type: "tool_result", ToolUseID: t.CallID, Content: resultContent(t)}, marked)
		default:
			for _, p := range t.Content {
				b := blockOf(p)
				switch {
				case b == nil:
				case t.Role == llm.RoleSystem:
					c.system = append(c.system, b)
				default:
					c.add(llm.RoleUser, b, p.Marked)
				}
			}
		}
	}
	if last := len(c.messages) - 1; last < 0 || c.messages[last].Role != llm.RoleUser {
		c.add(llm.RoleUser, &block{Type: "text", Text: provider.Placeholder}, false)
	}
	return c
}

// blockOf returns a text or a picture as a block; nil for a blank text, which is refused.
func blockOf(p provider.Piece) *block {
	switch {
	case p.IsPicture():
		return &block{Type: "image", Source: map[string]string{"type": "base64", "media_type": p.MediaType, "data": p.Data}}
	case strings.TrimSpace(p.Text) == "":
		return nil
	}
	return &block{Type: "text", Text: p.Text}
}

// resultContent returns the content of a tool_result: a text, or with pictures a list of text and image blocks
// (https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use, Handling tool use). nil: it is empty.
func resultContent(t provider.Turn) any {
	switch {
	case len(t.Content) == 1 && t.Content[0].Text == "":
		return nil
	case len(t.Content) == 1:
		return t.Content[0].Text
	}
	var blocks []*block
	for _, p := range t.Content {
		b := blockOf(p)
		if b != nil {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// add appends b to the last message, or starts one.
func (c *conversation) add(role llm.Role, b any, marked bool) {
	last := len(c.messages) - 1
	if last < 0 || c.messages[last].Role != role {
		c.messages = append(c.messages, message{Role: role})
		last++
	}
	c.messages[last].Content = append(c.messages[last].Content, b)
	if marked {
		c.marked = append(c.marked, b.(*block))
	}
}

// loopStart returns the index behind the last user's turn that does not follow a tool result: the running tool loop.
func loopStart(turns []provider.Turn) int {
	start := 0
	for i, t := range turns {
		if t.Role == llm.RoleUser && (i == 0 || turns[i-1].Role != llm.RoleTool) {
			start = i + 1
		}
	}
	return start
}

// addAnswer adds the blocks of an answer in their original order.
func (c *conversation) addAnswer(t provider.Turn, thoughts []thought) {
	say := func(text string) {
		if strings.TrimSpace(text) != "" {
			c.add(llm.RoleAssistant, &block{Type: "text", Text: text}, false)
		}
	}
	for _, p := range t.Content[:max(len(t.Content)-min(len(t.Text), 1), 0)] { // of answers before it
		say(p.Text)
	}
	text := 0
	calls := 0
	write := func(toText, toCalls int) {
		say(t.Text[text:toText])
		for _, call := range t.Calls[calls:toCalls] {
			c.add(llm.RoleAssistant, &block{Type: "tool_use", ID: call.ID, Name: call.Name, Input: json.RawMessage(llm.ValidArguments(call.Arguments))}, false)
		}
		text = toText
		calls = toCalls
	}
	for _, thought := range thoughts {
		write(min(max(thought.Text, text), len(t.Text)), min(max(thought.Calls, calls), len(t.Calls)))
		c.add(llm.RoleAssistant, thought.Block, false)
	}
	write(len(t.Text), len(t.Calls))
}
