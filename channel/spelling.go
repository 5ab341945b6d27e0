package channel

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// How hints name the commands: as people write them on their platform.

// Speller is what a connector implements whose commands are not written "/compact".
type Speller interface {
	// Spell returns how a command is written in a conversation; line is "/compact".
	Spell(conversation, line string) string
}

// hint finds the commands in a text of ours; not paths, nor parts of a word.
var hint = sync.OnceValue(func() *regexp.Regexp {
	var names []string
	for _, c := range Commands {
		names = append(names, c.Name)
	}
	return regexp.MustCompile(`(^|[^\w/])(/(?:` + strings.Join(names, "|") + `)\b)`)
})

// spell replaces the commands in a text by the form they have in a conversation. The
// text must be ours: words of people and of models are repeated as they are.
func (h *Hub) spell(name, text string) string {
	speller, ok := h.connectors[connectorOf(name)].(Speller)
	if !ok {
		return text
	}
	return hint().ReplaceAllStringFunc(text, func(found string) string {
		before, command, _ := strings.Cut(found, "/")
		return before + speller.Spell(name, "/"+command)
	})
}

func (c *conversation) spell(text string) string { return c.hub.spell(c.name, text) }

// sayf is fmt.Sprintf with the commands in format spelled; args are left as they are.
func (c *conversation) sayf(format string, args ...any) string {
	return fmt.Sprintf(c.spell(format), args...)
}
