// Posts: messages, each of which is posted once and can be found again, and answers to commands, with buttons for the pages of a list.

package discord

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/channel/sentences"
	"cairn/connector/platform"
)

// post is the JSON of a new message, of an edit, or of the answer to an interaction. discordgo's types have no nonce.
type post struct {
	Content   string                           `json:"content"`
	Nonce     string                           `json:"nonce,omitempty"`
	Enforce   bool                             `json:"enforce_nonce,omitempty"`
	Mentions  discordgo.MessageAllowedMentions `json:"allowed_mentions"`
	Reference *discordgo.MessageReference      `json:"message_reference,omitempty"`
	Flags     int                              `json:"flags,omitempty"`

	Components []discordgo.MessageComponent `json:"components,omitzero"` // empty: those of the edited message go
}

// textPost returns a message that notifies no one: by default Discord notifies everyone whom the model mentions.
func textPost(text string) post {
	return post{Content: text, Mentions: discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}} // never null
}

// nonce hashes parts into 25 characters. For a few minutes Discord posts no second message with the same nonce.
func nonce(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q", parts)))
	return base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])[:25]
}

// newPost returns a message that replies to the message to, unless that is empty.
func newPost(channel, text, to, nonce string) post {
	p := textPost(text)
	p.Nonce = nonce
	p.Enforce = true
	if to != "" {
		p.Reference = &discordgo.MessageReference{MessageID: to, ChannelID: channel, FailIfNotExists: new(bool)}
	}
	return p
}

// sameText reports whether two texts are equal to Discord, which trims space at both ends.
func sameText(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

func nonceOf(conversation string, p channel.Piece) string {
	return nonce(conversation, p.Reply, p.Part)
}

// messages splits replies at 2000 UTF-16 units, the strictest reading of Discord's "2000 characters" (Message: Create Message).
var messages = platform.Splitter{Limit: 2000, Spoilers: true}

// markdown is what Discord knows of it (Discord, Markdown Text 101).
var markdown = platform.Markdown{Underline: true}

// split splits a reply into messages.
func split(text string) []string {
	pieces := messages.Texts(markdown.Convert(text), "…") // Discord rejects empty messages
	for i, p := range pieces {
		pieces[i] = strings.TrimRightFunc(p, unicode.IsSpace)
	}
	return pieces
}

const maxCustomID = 100 // bytes (Discord, Components: Custom ID)

// customID returns the id of a button that shows a page of a command's answer; empty if the line is too long for one.
func customID(line string, page int) string {
	if id := fmt.Sprintf("page %d %s", page, line); len(id) <= maxCustomID {
		return id
	}
	return ""
}

// besidePrefix begins the id of a button whose answer does not replace its message.
const besidePrefix = "beside "

func parseCustomID(id string) (line string, page int, ok bool) {
	if line, beside := strings.CutPrefix(id, besidePrefix); beside {
		return line, 0, strings.HasPrefix(line, "/")
	}
	rest, isPage := strings.CutPrefix(id, "page ")
	n, line, more := strings.Cut(rest, " ")
	page, err := strconv.Atoi(n)
	return line, page, isPage && more && err == nil && strings.HasPrefix(line, "/")
}

// button is a button that runs a command.
func button(label, id string, disabled bool) discordgo.Button {
	return discordgo.Button{Style: discordgo.SecondaryButton, Label: label, CustomID: id, Disabled: disabled}
}

// answerPost returns an answer to a command. Without buttons, those of the message that it replaces go.
func answerPost(text string, flags int, buttons ...discordgo.MessageComponent) post {
	p := textPost(text)
	p.Flags = flags
	p.Components = []discordgo.MessageComponent{}
	p.add(buttons...)
	return p
}

// add adds a row of buttons, if there are any.
func (p *post) add(buttons ...discordgo.MessageComponent) {
	if len(buttons) > 0 {
		p.Components = append(p.Components, discordgo.ActionsRow{Components: buttons})
	}
}

// page renders page n of a list, with buttons for the previous and the next one.
func page(line string, answer command.Answer, n int) post {
	n = min(max(n, 0), answer.Pages()-1)
	p := answerPost(messages.Fit(answer.Page(n)), 0,
		button(sentences.In(answer.Language).Translate(command.TextPrevious), customID(line, n-1), n == 0),
		button(sentences.In(answer.Language).Translate(command.TextNext), customID(line, n+1), n == answer.Pages()-1))
	p.add(menu(answer, n)...)
	p.add(commandButtons(answer.Buttons)...)
	return p
}

const (
	maxOptionLabel = 100 // characters (Discord, Components: Select Option Structure)
	maxOptionValue = 100
	menuID         = besidePrefix + "menu"
)

// menu is a menu of the commands about the items on a page of a list; empty if there are none.
func menu(answer command.Answer, page int) (row []discordgo.MessageComponent) {
	var options []discordgo.SelectMenuOption
	for _, choice := range answer.Choices(page) {
		if len(choice.Value) <= maxOptionValue {
			options = append(options, discordgo.SelectMenuOption{Label: platform.Short(choice.Label, maxOptionLabel), Value: choice.Value})
		}
	}
	if len(options) == 0 {
		return nil
	}
	return []discordgo.MessageComponent{discordgo.SelectMenu{
		MenuType: discordgo.StringSelectMenu, CustomID: menuID, Options: options,
		Placeholder: sentences.In(answer.Language).Translate(command.TextChoose),
	}}
}

const maxButtons = 5 // in a row (Discord, Components: Action Row)

// commandButtons returns buttons that run commands.
func commandButtons(buttons []channel.Button) (all []discordgo.MessageComponent) {
	for _, b := range buttons[:min(len(buttons), maxButtons)] {
		id := customID(b.Line, 0)
		if b.Beside {
			id = besidePrefix + b.Line
		}
		if id != "" && len(id) <= maxCustomID {
			all = append(all, button(platform.Short(b.Label, 80), id, false))
		}
	}
	return all
}
