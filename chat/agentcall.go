package chat

import (
	"strings"
	"unicode"
)

// AgentCall splits "@id question". The id is empty if the text has another form.
func AgentCall(text string) (id, question string) {
	call, ok := strings.CutPrefix(strings.TrimSpace(text), "@")
	if !ok {
		return "", ""
	}
	if end := strings.IndexFunc(call, unicode.IsSpace); end >= 0 {
		call, question = call[:end], strings.TrimSpace(call[end:])
	}
	return strings.TrimRight(call, ",:;.!?"), question
}
