package channel

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Answer is the result of a command.
type Answer struct {
	Text  string   // shown above the items, if there are any
	Items []string // lines of a list; a connector that can shows them in pages

	Language string // of the conversation, for what connectors add

	Private bool // only for the person who asked, even if the command is Public: a refusal
	Aligned bool // Text has columns, which need a fixed-width font: see Fenced

	Forgets bool // what the person said is being deleted: a connector deletes its own copies too

	// Then, if not nil, waits until what the command started, or ctx, has ended, and returns the text that replaces Text.
	Then func(ctx context.Context) string

	// Awaited says that the real answer is what Then returns. Otherwise a connector that shows compactions need not wait for it.
	Awaited bool
}

// pageSize is the number of items on a page.
const pageSize = 10

// Pages returns how many pages the answer has, at least one.
func (a Answer) Pages() int { return max((len(a.Items)+pageSize-1)/pageSize, 1) }

// Page returns page n, counted from 0; if n is out of range, the nearest page.
func (a Answer) Page(n int) string {
	n = min(max(n, 0), a.Pages()-1)
	text := a.lines(a.Items[n*pageSize : min((n+1)*pageSize, len(a.Items))])
	if a.Pages() > 1 {
		text += "\n" + Translated(a.Language, fmt.Sprintf("(page %d of %d)", n+1, a.Pages()))
	}
	return text
}

// What connectors add to answers; Translated translates it into the answer's language.
const (
	TextRefused  = "I do not answer here."
	TextUnknown  = "There is no such command. These are the ones I know:"
	TextDone     = "Done."
	TextPrevious = "Previous" // page
	TextNext     = "Next"     // page
)

// String returns the whole answer.
func (a Answer) String() string { return a.lines(a.Items) }

func (a Answer) lines(items []string) string {
	return strings.TrimPrefix(strings.Join(append([]string{a.Text}, items...), "\n"), "\n")
}

// backticks puts a zero-width joiner between backticks that would end a code block.
var backticks = strings.NewReplacer("```", "`\u2060`\u2060`")

// Fenced returns the answer for a connector that shows Markdown: aligned text becomes a code block.
func (a Answer) Fenced() Answer {
	if a.Aligned && a.Text != "" {
		a.Text, a.Aligned = "```\n"+backticks.Replace(a.Text)+"\n```", false
	}
	return a
}

// Choice is a suggested value for an argument of a command.
type Choice struct {
	Label string // shown to people
	Value string
}

// Hints name commands the way people write them on their platform.

// Speller is implemented by connectors whose commands are not written "/compact".
type Speller interface {
	// Spell returns how a command is written in a conversation; line is "/compact".
	Spell(conversation, line string) string
}

// hint matches the commands in one of our own texts, but not paths or parts of words.
var hint = sync.OnceValue(func() *regexp.Regexp {
	var names []string
	for _, c := range Commands {
		names = append(names, c.Name)
	}
	return regexp.MustCompile(`(^|[^\w/])(/(?:` + strings.Join(names, "|") + `)\b)`)
})

// spell replaces the commands in a text of ours with the form they have in a conversation.
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

// spell translates a sentence into the conversation's language and spells its commands.
func (c *conversation) spell(text string) string { return c.hub.spell(c.name, c.translated(text)) }

// sayf is fmt.Sprintf with format translated and its commands spelled; args stay unchanged.
func (c *conversation) sayf(format string, args ...any) string {
	return fmt.Sprintf(c.hub.spell(c.name, c.translatedFormat(format)), args...)
}

// peopleError carries a message for the person who asked; it is not a program error.
type peopleError struct {
	words   string
	private bool // only that person needs to see it: they lack the rights, or came too late
}

func (e peopleError) Error() string { return e.words }

func errPeople(words string) error { return peopleError{words: words} }
func errDenied(words string) error { return peopleError{words, true} }

// Words returns the text of an error that is meant for people; ok is false for other errors.
func Words(err error) (words string, ok bool) {
	var e peopleError
	ok = errors.As(err, &e)
	return e.words, ok
}
