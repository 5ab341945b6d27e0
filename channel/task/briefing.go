package task

import (
	"slices"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/secrets"
	"cairn/llm"
)

const (
	briefingMessages = 20   // of the parent, at most
	briefingTokens   = 1500 // of these messages
)

// briefingOf returns what a sub-agent reads of the conversation, the newest that fits, and the messages it is of.
func briefingOf(messages []chat.Message) (text string, of []int64) {
	messages = slices.DeleteFunc(messages, func(m chat.Message) bool {
		return m.Text == "" || m.Role != llm.RoleUser && m.Role != llm.RoleAssistant
	})
	items := summarize.ClippedItems(messages, briefingTokens/3)
	left := briefingTokens
	first := len(items)
	for ; first > 0 && items[first-1].Tokens <= left; first-- {
		left -= items[first-1].Tokens
	}
	items = items[first:]
	if len(items) == 0 {
		return "", nil
	}
	for _, item := range items {
		of = append(of, item.From)
	}
	return "\n\n<briefing>\n" + secrets.Mask(summarize.PlainText(items)) + "\n</briefing>", of
}
