// Messages in other forms: tool use in words, for a server that refuses a request because of it; neighbours joined.

package llm

import (
	"fmt"
	"slices"
	"strings"
)

// InWords returns messages in which calls of tools, their results and what a provider
// added in fields of its own are no more: a result becomes a labelled text in user
// role, which no text in it can close, a call is left out. It reports whether that is
// another request. Ids that another model gave, arguments it wrote and signatures it
// wants back are what a server refuses for good in a conversation that was going well.
func InWords(messages []Message) (converted []Message, changed bool) {
	return inWords(messages, func(m Message) bool { return len(m.Calls) > 0 || len(m.Native) > 0 }, true)
}

// UnreasonedInWords is InWords for the calls alone of which the reasoning is not at hand:
// a provider that demands it refuses them.
func UnreasonedInWords(messages []Message) []Message {
	converted, _ := inWords(messages, func(m Message) bool { return len(m.Calls) > 0 && len(m.Native) == 0 }, false)
	return converted
}

// DeprivedInWords is InWords for the calls alone whose reasoning was dropped while their
// turn ran. Without such calls it returns messages itself.
func DeprivedInWords(messages []Message) []Message {
	deprived := func(m Message) bool { return m.Deprived && len(m.Calls) > 0 }
	if !slices.ContainsFunc(messages, deprived) {
		return messages
	}
	converted, _ := inWords(messages, deprived, false)
	return converted
}

// inWords puts the messages for which tell reports true into words, and the results of
// their calls, or, with all, every result.
func inWords(messages []Message, tell func(Message) bool, all bool) (converted []Message, changed bool) {
	calls := make(map[string]bool) // that were put into words, of the last message with calls
	for _, m := range messages {
		switch {
		case m.Role == RoleAssistant && tell(m):
			clear(calls)
			for _, call := range m.Calls {
				calls[call.ID] = true
			}
			changed = true
			m.Calls, m.Native = nil, nil
			if strings.TrimSpace(m.Text) == "" {
				continue
			}
		case m.Role == RoleAssistant:
			clear(calls)
		case m.Role == RoleTool && (all || calls[m.CallID]):
			changed = true
			text := strings.ReplaceAll(m.Text, "</tool_result", "< /tool_result")
			m = Message{Role: RoleUser, Text: fmt.Sprintf("<tool_result tool=%q>\n%s\n</tool_result>", m.Tool, text)}
		}
		converted = append(converted, m)
	}
	return converted, changed
}

// Joined returns messages with neighbours in user role made one, their texts parted by
// a blank line: so a model's template shows them. Nothing of messages is changed.
func Joined(messages []Message) []Message {
	joined := make([]Message, 0, len(messages))
	for _, m := range messages {
		last := len(joined) - 1
		if last < 0 || m.Role != RoleUser || joined[last].Role != RoleUser {
			joined = append(joined, m)
			continue
		}
		joined[last].Text += "\n\n" + m.Text
		joined[last].Images = slices.Concat(joined[last].Images, m.Images)
	}
	return joined
}
