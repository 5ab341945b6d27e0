package compactor

import (
	"slices"

	"cairn/llm"
)

// rendered returns the messages of renderMessages, with a context after the last user message, and
// adjacent user messages joined as a protocol joins them.
func rendered(system, head string, lines []line, now string) []llm.Message {
	s := view{headText: head, lines: lines}
	if i := lastOfUser(lines); now != "" && i >= 0 {
		s.contexts = []turnContext{contextOf(Context{Seq: lines[i].Seq, Text: now})}
	}
	return joined(renderMessages(system, s))
}

func joined(blocks []llm.Message) (messages []llm.Message) {
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

// renderMessages turns head, lines and contexts into the messages of a request: a block for each,
// every result after its call, every call answered. Adjacent user messages stay separate blocks;
// each protocol joins them as it needs.
func renderMessages(system string, s view) []llm.Message {
	out := appendHead(make([]llm.Message, 0, len(s.lines)+len(s.contexts)+2), system, s.headText)
	return appendLines(out, s.lines, s.contexts, shownPictures(s.lines))
}
