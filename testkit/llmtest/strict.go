package llmtest

import (
	"encoding/json"
	"slices"

	"cairn/llm"
)

// Joined returns messages as a protocol joins them: adjacent ones of a user are one.
func Joined(blocks []llm.Message) (messages []llm.Message) {
	for _, b := range blocks {
		if n := len(messages) - 1; n >= 0 && b.Role == llm.RoleUser && messages[n].Role == llm.RoleUser {
			messages[n].Text += "\n\n" + b.Text
			messages[n].Images = slices.Concat(messages[n].Images, b.Images)
			continue
		}
		messages = append(messages, b)
	}
	return messages
}

// Refused returns what a strict provider rejects in a request of joined messages; "" if nothing.
func Refused(messages []llm.Message) string {
	owed := map[string]bool{}
	for i, m := range messages {
		switch {
		case m.Role != llm.RoleTool && len(owed) > 0:
			return "a call has no result"
		case m.Role == llm.RoleSystem && i > 0:
			return "a second system message"
		case m.Role == llm.RoleUser && (m.Text == "" || i > 0 && messages[i-1].Role == llm.RoleUser):
			return "an empty message of a user, or two in a row"
		case m.Role == llm.RoleAssistant && m.Text == "" && len(m.Calls) == 0:
			return "an empty answer"
		case m.Role == llm.RoleTool && !owed[m.CallID]:
			return "a result without a call"
		}
		delete(owed, m.CallID)
		for _, call := range m.Calls {
			if call.ID == "" || call.Name == "" || owed[call.ID] || !json.Valid([]byte(call.Arguments)) {
				return "a call that is none"
			}
			owed[call.ID] = true
		}
	}
	if len(owed) > 0 {
		return "a call has no result"
	}
	return ""
}
