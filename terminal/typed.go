// Interprets a typed line: a command, a message, or the wish to leave.

package terminal

import (
	"regexp"
	"slices"
	"strings"

	"cairn/channel"
)

// quitWords leave the chat. They exist only in the terminal, so channel.Commands does not contain them.
var quitWords = []string{"quit", "exit"}

type typed struct {
	text      string // the command or the message
	command   string // name of the command; empty for a message
	immediate bool   // the command does not wait for earlier lines
	quit      bool   // the person wants to leave
}

// parseTyped parses a line. "/word" is a command, and an error if it does not exist: otherwise it
// would be sent to the model, at a cost. "//word" is the text "/word"; "/" alone is /help.
func parseTyped(line string) (typed, error) {
	text := strings.TrimSpace(line)
	if text == "/" {
		text = "/help"
	}
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
	return typed{text: text, command: command.Name, immediate: command.Urgent}, nil
}

// command matches a slash and a word that has only letters and hyphens: "/usr/bin is full" is not a command.
var command = regexp.MustCompile(`^/([\pL-]+)(?:[\s\pZ]|$)`)

// commandWord returns the word of a command at the start of text, else "".
func commandWord(text string) string {
	if found := command.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}
