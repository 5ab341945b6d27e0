// Tool use told in words, for a server that takes a request no more because of it.

package llm

import (
	"fmt"
	"strings"
)

// InWords returns messages in which calls of tools, their results and what a provider
// added in fields of its own are no more: a result stands as a labelled text in user
// role, which no text in it can close, a call is not told. It reports whether that is
// another request. Ids that another model gave, arguments it wrote and signatures it
// wants back are what a server refuses for good in a conversation that was going well.
func InWords(messages []Message) (told []Message, changed bool) {
	for _, m := range messages {
		changed = changed || len(m.Calls) > 0 || m.Role == RoleTool || len(m.Native) > 0
		m.Calls, m.Native = nil, nil
		switch m.Role {
		case RoleTool:
			text := strings.ReplaceAll(m.Text, "</tool_result", "< /tool_result")
			m = Message{Role: RoleUser, Text: fmt.Sprintf("<tool_result tool=%q>\n%s\n</tool_result>", m.Tool, text)}
		case RoleAssistant:
			if strings.TrimSpace(m.Text) == "" {
				continue
			}
		}
		told = append(told, m)
	}
	return told, changed
}
