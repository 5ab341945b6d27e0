// Tool use as text, for a server that refuses a request because of it.

package llm

import (
	"fmt"
	"slices"
	"strings"
)

// InWords returns messages without tool calls, tool results and what a provider added in fields of its own: a result
// becomes a labelled text in user role, which its content cannot close, and a call is left out. changed reports whether
// anything was converted. Ids from another model, arguments it wrote and signatures it demands are reasons for a server
// to refuse a conversation permanently.
func InWords(messages []Message) (converted []Message, changed bool) {
	return inWords(messages, func(m Message) bool { return len(m.Calls) > 0 || len(m.Native) > 0 }, true)
}

// UnreasonedInWords is InWords only for calls whose reasoning was dropped while their turn ran; if it is always wanted,
// for all calls without reasoning. A provider that demands it refuses them. Without such calls it returns messages.
func UnreasonedInWords(messages []Message, wanted bool) []Message {
	unreasoned := func(m Message) bool { return len(m.Calls) > 0 && (m.Deprived || wanted && len(m.Native) == 0) }
	if !slices.ContainsFunc(messages, unreasoned) {
		return messages
	}
	converted, _ := inWords(messages, unreasoned, false)
	return converted
}

// inWords converts the messages for which tell returns true, and the results of their calls, or, with all, every result.
func inWords(messages []Message, tell func(Message) bool, all bool) (converted []Message, changed bool) {
	calls := make(map[string]bool) // converted calls of the last message with calls
	for _, m := range messages {
		switch {
		case m.Role == RoleAssistant && tell(m):
			clear(calls)
			for _, call := range m.Calls {
				calls[call.ID] = true
			}
			changed = true
			m.Calls = nil
			m.Native = nil
			if strings.TrimSpace(m.Text) == "" {
				continue
			}
		case m.Role == RoleAssistant:
			clear(calls)
		case m.Role == RoleTool && (all || calls[m.CallID]):
			changed = true
			text := strings.ReplaceAll(m.Text, "</tool_result", "< /tool_result")
			m = Message{Role: RoleUser, Text: fmt.Sprintf("<tool_result tool=%q>\n%s\n</tool_result>", m.Tool, text), Images: m.Images}
		}
		converted = append(converted, m)
	}
	return converted, changed
}
