package command

import (
	"regexp"
	"strings"
	"sync"
)

// mention matches the commands in one of the bot's own texts, but not paths or parts of words.
var mention = sync.OnceValue(func() *regexp.Regexp {
	var names []string
	for _, c := range All {
		names = append(names, c.Name)
	}
	return regexp.MustCompile(`(^|[^\w/])(/(?:` + strings.Join(names, "|") + `)\b)`)
})

// Spell replaces the commands in one of the bot's own texts by what spelling returns for each, such as "/compact".
func Spell(text string, spelling func(command string) string) string {
	return mention().ReplaceAllStringFunc(text, func(found string) string {
		before, command, _ := strings.Cut(found, "/")
		return before + spelling("/"+command)
	})
}
