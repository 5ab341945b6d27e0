// What a typed line means: a command, a message, or the wish to leave.
package terminal

import (
	"slices"
	"strings"
	"unicode"

	"cairn/channel"
)

// quitWords leave the chat. They belong to the terminal, so channel.Commands lacks them.
var quitWords = []string{"quit", "exit"}

// typed is a line that a person typed.
type typed struct {
	text    string // the command or the message
	command string // name of the command; empty for a message
	urgent  bool   // the command acts at once
	quit    bool   // the person wants to leave
}

// parseTyped reads a line. "/word" is a command, and an error for people if there is none
// of that name: it would be sent to the model and paid for. "//word" is the text "/word".
func parseTyped(line string) (typed, error) {
	text := strings.TrimSpace(line)
	word := commandWord(text)
	if word == "" {
		if escaped, ok := strings.CutPrefix(text, "/"); ok && commandWord(escaped) != "" {
			return typed{text: escaped}, nil
		}
		return typed{text: line}, nil
	}
	if slices.Contains(quitWords, strings.ToLower(word)) {
		return typed{quit: true}, nil
	}
	command, err := channel.FindCommand(word)
	if err != nil {
		return typed{}, err
	}
	return typed{text: text, command: command.Name, urgent: command.Urgent}, nil
}

// commandWord is the first word of text behind its slash if that has only letters and
// hyphens, else "": "/usr/bin is full" is no command.
func commandWord(text string) string {
	rest, slash := strings.CutPrefix(text, "/")
	words := strings.Fields(rest)
	if !slash || len(words) == 0 || !strings.HasPrefix(rest, words[0]) {
		return ""
	}
	for _, r := range words[0] {
		if !unicode.IsLetter(r) && r != '-' {
			return ""
		}
	}
	return words[0]
}
