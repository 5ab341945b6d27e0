// The answer to a command, and what connectors add to it.

package command

import (
	"context"
	"fmt"
	"strings"

	"cairn/channel/sentences"
	"cairn/chat"
)

// Answer is the result of a command.
type Answer struct {
	Text  string   // shown above the items, if there are any
	Items []string // lines of a list; a connector that can shows them in pages
	Lines []string // commands about the items, one for each; a connector that can lets people choose an item to run its command: see Choices

	Language string // of the conversation, for what connectors add

	Private bool // only for the person who asked, even if the command is Public: a refusal
	Refused bool // nothing was done; if a button was pressed, its message stays as it is
	Aligned bool // Text has columns, which need a fixed-width font: see Fenced

	Forgets bool // what the person said is being deleted: a connector deletes its own copies too

	Buttons []Button // shown below; a connector without buttons leaves them out

	// Then, if not nil, waits until what the command started, or ctx, has ended, and returns the answer that replaces this one.
	Then func(ctx context.Context) Answer `json:"-"`

	// Awaited says that the real answer is what Then returns. Otherwise a connector that shows compactions need not wait for it.
	Awaited bool
}

// Button runs a command when somebody presses it. The command decides then who may, and whether there is still something to do.
type Button struct {
	Label string `json:"label"` // at most 40 characters
	Line  string `json:"line"`  // the command, such as "/forget 12"; at most 80 bytes, so that it fits into what platforms keep for the bot

	// Beside says that what comes of it is shown beside the message, to that person alone. Otherwise it replaces the message.
	Beside bool `json:"beside,omitempty"`
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
		text += "\n" + sentences.In(a.Language).Translate(fmt.Sprintf("(page %d of %d)", n+1, a.Pages()))
	}
	return text
}

// Choices returns what people can choose on a page: the commands about its items. What comes of one is shown beside the list.
func (a Answer) Choices(page int) (all []Choice) {
	page = min(max(page, 0), a.Pages()-1)
	for i := page * pageSize; i < min((page+1)*pageSize, len(a.Lines)); i++ {
		all = append(all, Choice{Label: chat.OneLine(a.Items[i]), Value: a.Lines[i]})
	}
	return all
}

// What connectors add to answers, in English; sentences.In(Answer.Language) translates it.
const (
	TextRefused  = "I do not answer here."
	TextUnknown  = "I do not know that command. I know these:"
	TextNoButton = "This button no longer works: its subject is gone, or another version of me created it. Type the command instead."
	TextDone     = "Done."
	TextPrevious = "Previous" // page
	TextNext     = "Next"     // page
	TextChoose   = "Choose one…"
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
		a.Text = "```\n" + backticks.Replace(a.Text) + "\n```"
		a.Aligned = false
	}
	return a
}

// Choice is a suggested value for an argument of a command, or a command about an item of a list.
type Choice struct {
	Label string // shown to people
	Value string
}
