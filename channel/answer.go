package channel

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Answer is what a command answers.
type Answer struct {
	Text  string   // above the items, if there are any
	Items []string // of a list, a line each; a connector that can shows it in pages

	Private bool // only for the person who asked, also where the command is Public: a refusal
	Aligned bool // Text is in columns, which need a font of fixed width: see Fenced

	// Then, if it is not nil, waits for the end of what the command began and
	// returns the text that takes the place of Text. It ends when its context does.
	Then func(ctx context.Context) string

	// Awaited tells that the answer itself is what Then returns. Else a connector that
	// shows compactions need not wait for it.
	Awaited bool
}

// pageSize is how many items a page has.
const pageSize = 10

// Pages returns how many pages the answer has, at least one.
func (a Answer) Pages() int { return max((len(a.Items)+pageSize-1)/pageSize, 1) }

// Page returns one page, from 0; a page that is not there is the nearest that is.
func (a Answer) Page(n int) string {
	n = min(max(n, 0), a.Pages()-1)
	text := a.lines(a.Items[n*pageSize : min((n+1)*pageSize, len(a.Items))])
	if a.Pages() > 1 {
		text += fmt.Sprintf("\n(page %d of %d)", n+1, a.Pages())
	}
	return text
}

// String is the whole answer.
func (a Answer) String() string { return a.lines(a.Items) }

func (a Answer) lines(items []string) string {
	all := items
	if a.Text != "" {
		all = append([]string{a.Text}, items...)
	}
	return strings.Join(all, "\n")
}

// backticks that would end a code block get a joiner, which has no width, between them.
var backticks = strings.NewReplacer("```", "`\u2060`\u2060`")

// Fenced is the answer for a connector that shows Markdown: aligned text is in a code block.
func (a Answer) Fenced() Answer {
	if a.Aligned && a.Text != "" {
		a.Text, a.Aligned = "```\n"+backticks.Replace(a.Text)+"\n```", false
	}
	return a
}

// Choice is a value that somebody may want to give to a command's argument.
type Choice struct {
	Label string // for people
	Value string
}

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

// spell is a sentence in the language of the conversation, with the commands spelled.
func (c *conversation) spell(text string) string { return c.hub.spell(c.name, c.translated(text)) }

// sayf is fmt.Sprintf with the commands in format spelled; args are left as they are.
func (c *conversation) sayf(format string, args ...any) string {
	return fmt.Sprintf(c.hub.spell(c.name, c.translatedFormat(format, args)), args...)
}
