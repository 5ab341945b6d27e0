// Marks up to which the server caches a prompt and searches for a cached one.

package anthropic

import "cairn/llm"

// cacheControl returns the mark to set; nil if the server accepts none.
func (m *Model) cacheControl(refused map[string]bool) *cacheControl {
	switch {
	case refused[marks.Name]:
		return nil
	case m.CacheTTL() == longTTL:
		return &cacheControl{Type: "ephemeral", TTL: "1h"}
	}
	return &cacheControl{Type: "ephemeral"}
}

// mark sets at most four marks, the interface's maximum: after the tools and the system prompt,
// after the head, after the last message of the previous request, where its mark was, and after the
// last message. The server searches only 20 blocks back from a mark, so the third one finds a
// prefix that a long tool step would hide.
func (c *composed) mark(conversation conversation, req llm.Request) {
	if last := len(c.System) - 1; last >= 0 {
		c.System[last].(*block).Cache = c.control
	} else if last := len(c.Tools) - 1; last >= 0 {
		c.Tools[last].Cache = c.control
	}
	behind := func(index int) {
		if index >= 0 && index < len(conversation.ends) && conversation.ends[index] != nil {
			conversation.ends[index].Cache = c.control
		}
	}
	behind(req.Head - 1)
	behind(previousEnd(req.Messages))
	behind(len(req.Messages) - 1)
}

// previousEnd returns the index of the last message of the previous request, which precedes the
// model's last answer; -1 if there is none.
func previousEnd(messages []llm.Message) int {
	answered := false
	for i := len(messages) - 1; i >= 0; i-- {
		switch {
		case messages[i].Role == llm.RoleAssistant:
			answered = true
		case answered:
			return i
		}
	}
	return -1
}
