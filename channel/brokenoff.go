package channel

import (
	"errors"
	"strings"

	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/clean"
)

// An answer that breaks off, and is not asked for again, is kept as far as it came.

// brokeOff ends such an answer, for people and for models, which read it later.
const brokeOff = "(My answer broke off here: the model's server did not send the rest. Ask me to continue.)"

// half returns what people saw of an answer before err ended it; "": nothing, or nothing to keep.
func (r *reply) half(err error) string {
	if provider, ok := errors.AsType[*llm.Error](err); !ok || !provider.Temporary() {
		return ""
	}
	return clean.WithoutNoReply(r.current.String(), true)
}

// rememberHalf keeps the text of an attempt for the case that the next one brings none.
func (turn *runningTurn) rememberHalf(r *reply, err error) {
	if r.half(err) != "" {
		turn.half = r.text()
	}
}

// brokenOff returns the last message of an answer that err ended; ok is false if nothing of it arrived.
func (c *conversation) brokenOff(turn *runningTurn, r *reply, err error) (m llm.Message, ok bool) {
	text := r.half(err)
	if text == "" && !ask(c, func(*compactor.Compactor) bool { return turn.sawChange }) { // it may repeat what is deleted now
		text = turn.half
	}
	return llm.Message{Role: llm.RoleAssistant, Text: withoutOpenFence(text) + "\n\n" + c.translated(brokeOff)}, text != ""
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
