package channel

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn/llm"
)

// A provider's filter reads the whole prompt, so one message that it refuses would end the
// conversation. Later requests contain a notice in its place; the transcript keeps it. The filter
// does not say which message it refuses: what it has not accepted yet is withheld, step by step.

const withheldNotice = "[System: the provider's filter refuses what stood here, so it is withheld]"

// promptFilter is what is known about the provider's filter. What it refuses is found again after a
// restart.
type promptFilter struct {
	withheld map[string]bool // the texts of messages that requests do not contain; an edited message has another text
	revision int             // of the last prompt that it accepted
	accepted int             // messages of it, and the answer
}

// apply returns messages with notices in the place of those withheld.
func (f *promptFilter) apply(messages []llm.Message) []llm.Message {
	if len(f.withheld) == 0 {
		return messages
	}
	messages = slices.Clone(messages)
	for i, m := range messages {
		if f.withheld[m.Text] {
			messages[i].Text, messages[i].Images = withheldNotice, nil
		}
	}
	return messages
}

// accept notes that the filter accepted the last request.
func (t *talk) accept() {
	if t.tried > 0 {
		t.log.Info("messages_withheld", "messages", t.tried, "model", t.agent.Model.Name())
	}
	maps.DeleteFunc(t.filter.withheld, func(text string, _ bool) bool { // it has left the prompt
		return !slices.ContainsFunc(t.sent, func(m llm.Message) bool { return m.Text == text })
	})
	t.filter.revision, t.filter.accepted = t.revision, len(t.sent)+1
	t.suspects, t.tried = nil, 0
}

// withhold has the next request lack more of what the filter may have refused, and reports whether
// there was more. If not, the question itself is at fault.
func (t *talk) withhold() bool {
	if t.suspects == nil {
		t.suspects = t.suspected()
	}
	if t.tried == len(t.suspects) {
		for _, text := range t.suspects {
			delete(t.filter.withheld, text)
		}
		return false
	}
	t.tried = min(4*t.tried+1, len(t.suspects)) // few requests, however long the prompt is
	for _, text := range t.suspects[:t.tried] {
		t.filter.withheld[text] = true
	}
	t.r.current.Reset()
	return true
}

// suspected returns the texts of the refused request that the filter has not accepted before, without
// the question: first people's messages that were not answered, the newest first, then all others.
func (t *talk) suspected() (texts []string) {
	start := 1 // behind the system prompt
	if t.revision == t.filter.revision && t.filter.accepted <= len(t.sent) {
		start = t.filter.accepted
	}
	spoken := func(i int) bool {
		return i < len(t.sent) && t.sent[i].Role == llm.RoleUser && strings.HasPrefix(t.sent[i].Text, "[#")
	}
	question := slices.IndexFunc(t.sent, func(m llm.Message) bool {
		return strings.HasPrefix(m.Text, fmt.Sprintf("[#%d ", t.r.turn.Seq))
	})
	var others []string
	for i := len(t.sent) - 1; i >= start; i-- {
		switch text := t.sent[i].Text; {
		case text == "" || t.filter.withheld[text] || spoken(i) && i >= question:
		case spoken(i) && spoken(i+1):
			texts = append(texts, text)
		default:
			others = append(others, text)
		}
	}
	return append(texts, others...)
}
