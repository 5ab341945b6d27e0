package channel

import (
	"strings"

	"cairn/compactor"
	"cairn/llm"
)

// An answer that breaks off, and is not asked for again, is kept as far as it came.

// brokeOff ends such an answer, for people and for models, which read it later.
const brokeOff = "(My answer broke off here: the model's server did not send the rest. Ask me to continue.)"

// brokenOff returns the last message of an answer that err ended; ok is false if nothing of it arrived.
func (t *turn) brokenOff(err error) (m llm.Message, ok bool) {
	text := t.attempt.half(err)
	if text == "" && !ask(t.loop, func(*compactor.Compactor) bool { return t.changes.seen }) { // it may repeat what is deleted now
		text = t.half
	}
	return llm.Message{Role: llm.RoleAssistant, Text: withoutOpenFence(text) + "\n\n" + t.speaker().Translate(brokeOff)}, text != ""
}

// withoutOpenFence closes the block of code that a text leaves open.
func withoutOpenFence(text string) string {
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		marks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		if strings.HasPrefix(line, "~") {
			marks = line[:len(line)-len(strings.TrimLeft(line, "~"))]
		}
		switch {
		case fence == "" && len(marks) >= 3 && !strings.Contains(line[len(marks):], "`"):
			fence = marks
		case fence != "" && marks == line && strings.HasPrefix(marks, fence):
			fence = ""
		}
	}
	if fence == "" {
		return text
	}
	return text + "\n" + fence
}
