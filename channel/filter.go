package channel

import (
	"maps"
	"slices"
	"strings"

	"cairn/llm"
)

// A provider's filter reads the whole prompt, so one message that it refuses would end the
// conversation. Later requests contain a notice in its place; the transcript keeps it. The filter
// does not say which message it refuses: what it has not accepted yet is withheld, step by step.

const withheldNotice = "[System: the provider's filter refuses what stood here, so it is withheld]"

// promptFilter is what is known about the provider's filter; after a restart it is found again.
type promptFilter struct {
	withheld map[string]bool // the texts of messages that requests do not contain; an edited message has another text
	suspects []string        // those of them that are withheld without certainty, until a request is accepted
	revision int             // of the last prompt that it accepted
	accepted int             // messages of it, and the answer
}

// start begins a series of requests. Whatever an earlier one ended with withheld stays so.
func (f *promptFilter) start() { f.suspects = nil }

// apply returns messages with notices in the place of those withheld.
func (f *promptFilter) apply(messages []llm.Message) []llm.Message {
	if len(f.withheld) == 0 {
		return messages
	}
	messages = slices.Clone(messages)
	for i, m := range messages {
		if f.withheld[m.Text] {
			messages[i].Text = withheldNotice
			messages[i].Images = nil
		}
	}
	return messages
}

// accept notes that the filter accepted a prompt, and returns how many messages prove to be what it had refused.
func (f *promptFilter) accept(messages []llm.Message, revision int) (found int) {
	found = len(f.suspects)
	maps.DeleteFunc(f.withheld, func(text string, _ bool) bool { // it has left the prompt
		return !slices.ContainsFunc(messages, func(m llm.Message) bool { return m.Text == text })
	})
	f.revision = revision
	f.accepted = len(messages) + 1
	f.suspects = nil
	return found
}

// withhold has the next request lack more of what the filter may have refused in a prompt, and reports whether there was more. If
// not, the question itself is at fault. question is how the text of the message to answer starts.
func (f *promptFilter) withhold(messages []llm.Message, revision int, question string) bool {
	more := f.suspected(messages, revision, question)
	more = more[:min(3*len(f.suspects)+1, len(more))] // few requests, however long the prompt is
	f.suspects = append(f.suspects, more...)
	for _, text := range f.suspects {
		f.withheld[text] = true
	}
	if len(more) == 0 {
		maps.DeleteFunc(f.withheld, func(text string, _ bool) bool { return slices.Contains(f.suspects, text) })
	}
	return len(more) > 0
}

// suspected returns the texts of a refused prompt that the filter has not accepted before, without those withheld and
// the question: first people's messages that were not answered, the newest first, then all others.
func (f *promptFilter) suspected(messages []llm.Message, revision int, question string) (texts []string) {
	start := 1 // behind the system prompt
	if revision == f.revision && f.accepted <= len(messages) {
		start = f.accepted
	}
	spoken := func(i int) bool {
		return i < len(messages) && messages[i].Role == llm.RoleUser && strings.HasPrefix(messages[i].Text, "[#")
	}
	first := slices.IndexFunc(messages, func(m llm.Message) bool { return strings.HasPrefix(m.Text, question) })
	var others []string
	for i := len(messages) - 1; i >= start; i-- {
		switch text := messages[i].Text; {
		case text == "" || f.withheld[text] || spoken(i) && i >= first:
		case spoken(i) && spoken(i+1):
			texts = append(texts, text)
		default:
			others = append(others, text)
		}
	}
	return append(texts, others...)
}
