// What answers to commands look like: their pages, buttons and menus.

package slack

import (
	"encoding/json"
	"strings"

	slackgo "github.com/slack-go/slack"

	"cairn/channel/command"
	"cairn/channel/sentences"
	"cairn/connector/platform"
)

const (
	maxBlocks    = 50           // of a message
	maxBytes     = 12_000       // of its blocks; Slack documents no limit, but was seen to refuse some 13 000
	maxValue     = 2_000        // characters of a button's value
	maxOption    = 75           // characters of an option's text (reference/block-kit/composition-objects/option-object)
	maxOptionOf  = 150          // of its value
	actionPrefix = "cairn_page" // prefix of the action ids of buttons that run a command
)

// blocks renders one page of an answer, shortened to fit, with buttons for its neighbours; text is what notifications show.
func blocks(c typed, a command.Answer) (text string, all []slackgo.Block) {
	a = a.Fenced()
	page := a.Page(c.page)
	buttons := pageButtons(c, a)
	if a.Pages() > 1 && buttons == nil {
		page = a.String() // the line is too long for a button
	}
	if menu := menuOf(c, a); menu != nil {
		buttons = append(buttons, menu)
	}
	for _, b := range a.Buttons {
		if button := buttonOf(b.Label, buttonValue{Line: b.Line, Thread: c.place.Thread, Beside: b.Beside}); button != nil {
			buttons = append(buttons, button)
		}
	}
	for limit := maxBytes; ; limit = limit * 3 / 4 {
		text, all = sections(platform.Splitter{Limit: limit}.Fit(page))
		if buttons != nil {
			all = append(all, slackgo.NewActionBlock("", buttons...))
		}
		if encoded, _ := json.Marshal(all); len(encoded) <= maxBytes { // they can always be encoded
			break
		}
	}
	if len(all) == 1 {
		all = nil // the text is enough
	}
	return text, all
}

// sections renders a text as blocks, with room for one more; first is the text of the first one.
func sections(text string) (first string, all []slackgo.Block) {
	pieces := section.Texts(text, "")
	for _, piece := range pieces[:min(len(pieces), maxBlocks-1)] {
		if strings.TrimSpace(piece) != "" {
			all = append(all, slackgo.NewSectionBlock(slackgo.NewTextBlockObject(slackgo.MarkdownType, escape(piece), false, false), nil, nil))
		}
	}
	return escape(pieces[0]), all
}

func pageButtons(c typed, a command.Answer) (buttons []slackgo.BlockElement) {
	page := min(max(c.page, 0), a.Pages()-1)
	for _, b := range []struct {
		label string
		page  int
	}{{command.TextPrevious, page - 1}, {command.TextNext, page + 1}} {
		if b.page < 0 || b.page >= a.Pages() {
			continue
		}
		button := buttonOf(sentences.In(a.Language).Translate(b.label), buttonValue{Line: c.line, Page: b.page, Thread: c.place.Thread})
		if button == nil {
			return nil
		}
		buttons = append(buttons, button)
	}
	return buttons
}

// menuOf returns a menu of the commands about the items on a page of a list; nil if there are none.
func menuOf(c typed, a command.Answer) slackgo.BlockElement {
	var options []*slackgo.OptionBlockObject
	for _, choice := range a.Choices(c.page) {
		value, err := json.Marshal(buttonValue{Line: choice.Value, Thread: c.place.Thread, Beside: true})
		if err == nil && len(value) <= maxOptionOf {
			options = append(options, slackgo.NewOptionBlockObject(string(value), plain(platform.Short(choice.Label, maxOption)), nil))
		}
	}
	if len(options) == 0 {
		return nil
	}
	placeholder := plain(sentences.In(a.Language).Translate(command.TextChoose))
	return slackgo.NewOptionsSelectBlockElement(slackgo.OptTypeStatic, placeholder, actionPrefix+"menu", options...)
}

// buttonOf returns a button that runs a command; nil if the command line is too long.
func buttonOf(label string, value buttonValue) slackgo.BlockElement {
	encoded, err := json.Marshal(value)
	if err != nil || len(encoded) > maxValue {
		return nil
	}
	return slackgo.NewButtonBlockElement(actionPrefix+strings.ToLower(label), string(encoded), slackgo.NewTextBlockObject(slackgo.PlainTextType, label, false, false))
}
