// Marks up to which the server caches a prompt, and where it looks for a cached one.

package anthropic

import "cairn/llm"

// cacheControl is the mark that is set.
func (m *Model) cacheControl(limits limits) *cacheControl {
	control := &cacheControl{Type: "ephemeral"}
	if m.CacheTTL() == longTTL && !limits.noTTL {
		control.TTL = "1h"
	}
	return control
}

// mark sets at most four marks, as many as the interface accepts: behind the tools and
// the system prompt, behind the head, behind the last message of the request before
// this one, where its mark was, and behind the last message. The server looks back from
// a mark over 20 blocks only, so the third one finds what a long tool step would hide.
func (c *composed) mark(conversation conversation, req llm.Request, control *cacheControl) {
	if last := len(c.System) - 1; last >= 0 {
		c.System[last].(*block).Cache = control
	} else if last := len(c.Tools) - 1; last >= 0 {
		c.Tools[last].Cache = control
	}
	behind := func(index int) {
		if index >= 0 && index < len(conversation.ends) && conversation.ends[index] != nil {
			conversation.ends[index].Cache = control
		}
	}
	behind(req.Head - 1)
	behind(previousEnd(req.Messages))
	behind(len(req.Messages) - 1)
}

// previousEnd is the index of the last message of the request before this one: the last
// one that is not the model's before the model's last answer; -1: there is none.
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
