// Messages in a form that every template accepts: roles alternate, and a user is first.

package openai

import (
	"slices"
	"strings"

	"cairn/llm"
	"cairn/llm/internal/provider"
)

// span is a run of neighbours that become one message of the request: users', or an assistant's up
// to the first one with calls. All others are single.
type span []llm.Message

// placeholder starts a prompt whose first message is not a user's: templates of Gemma, Mistral and
// Llama 2 refuse such prompts, and so does Anthropic.
var placeholder = span{{Role: llm.RoleUser, Text: "(continued)"}}

func (s span) isPlaceholder() bool { return &s[0] == &placeholder[0] }

// withoutBlank leaves out blank messages of an assistant: many servers refuse them. head is how many
// messages the head has.
func withoutBlank(messages []llm.Message, head int) (kept []llm.Message, keptHead int) {
	if !slices.ContainsFunc(messages, blank) {
		return messages, head // without a copy: nearly always
	}
	for i, m := range messages {
		if blank(m) {
			continue
		}
		if kept = append(kept, m); i < head {
			keptHead++
		}
	}
	return kept, keptHead
}

// spans splits messages, of which none is blank.
func spans(messages []llm.Message) []span {
	all := make([]span, 0, len(messages)+1)
	started := false // a message other than the system's was seen
	for i := 0; i < len(messages); {
		m := messages[i]
		if !started && m.Role != llm.RoleSystem {
			started = true
			if m.Role != llm.RoleUser {
				all = append(all, placeholder)
			}
		}
		end := i + 1
		for end < len(messages) && messages[end].Role == m.Role && joins(messages[end-1]) {
			end++
		}
		all = append(all, messages[i:end])
		i = end
	}
	return all
}

// joins reports whether a message is merged with a following one of its role.
func joins(m llm.Message) bool {
	return m.Role == llm.RoleUser || m.Role == llm.RoleAssistant && len(m.Calls) == 0
}

func blank(m llm.Message) bool {
	return m.Role == llm.RoleAssistant && len(m.Calls) == 0 && strings.TrimSpace(m.Text) == ""
}

// parts returns the parts of a span's messages, without empty texts. An empty span still has one
// part: servers refuse an empty message.
func (s span) parts() (parts []provider.Part) {
	for i, m := range s {
		for _, part := range provider.Parts(m) {
			if part != (provider.Part{}) || len(parts) == 0 && i == len(s)-1 {
				parts = append(parts, part)
			}
		}
	}
	return parts
}
