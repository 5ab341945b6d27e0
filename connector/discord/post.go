// Posts: messages, each of which is posted once and can be found again, reactions, and answers to commands: over the
// interaction, with buttons for the pages of a list, or as a reply to a written command.

package discord

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/channel/command"
	"cairn/channel/sentences"
	"cairn/chat"
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

// create posts a message and returns it. If one with the same nonce was posted before, it returns that.
func (d *Discord) create(ctx context.Context, channel string, p post, once bool) (made message, err error) {
	c := call{method: http.MethodPost, path: "/channels/" + channel + "/messages", body: p, into: &made, once: once}
	err = d.rest.do(ctx, c)
	if refusalIn(err).code == codeNoReplyHere {
		p.Reference = nil
		c.body = p
		err = d.rest.do(ctx, c)
	}
	if err == nil && made.ID == "" {
		err = fmt.Errorf("%s: the answer has no id", c.describe())
	}
	return made, err
}

func (d *Discord) editMessage(ctx context.Context, channel, id, text string, once bool) error {
	return d.rest.do(ctx, call{method: http.MethodPatch, path: "/channels/" + channel + "/messages/" + id, body: textPost(text), once: once})
}

// sameText reports whether two texts are equal to Discord, which trims space at both ends.
func sameText(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

const maxSearch = 5 // pages of a history

// findSent returns the message in which a piece was sent; its id is empty if there is none.
func (d *Discord) findSent(ctx context.Context, conversation string, piece channel.Piece) (message, error) {
	return d.find(ctx, conversation, piece.Reply, piece.To, func(m message) bool {
		switch first := piece.Part == 0 && len(piece.To) > 0; {
		case m.nonce() != "":
			return m.nonce() == nonceOf(conversation, piece) || first && m.repliesTo(piece.To)
		case first && m.Reference != nil:
			return m.repliesTo(piece.To)
		}
		return m.Reference == nil && sameText(m.text(), piece.Text)
	})
}

func (m message) repliesTo(to []string) bool {
	return m.Reference != nil && slices.Contains(to, m.Reference.MessageID)
}

// find returns the bot's first message for which is returns true; its id is empty if there is none. It searches after the oldest
// message in to, or among the newest, and skips those that the hub knows to be of another reply, such as a notice in between.
func (d *Discord) find(ctx context.Context, conversation, reply string, to []string, is func(message) bool) (message, error) {
	after := ""
	if len(to) > 0 {
		after = slices.MinFunc(to, byAge)
	}
	for range maxSearch {
		page, err := d.messages(ctx, channelID(conversation), after, "", maxPage, false)
		if err != nil {
			return message{}, fmt.Errorf("look for what was sent: %w", err)
		}
		me := d.state.self() // messages has found out
		for _, m := range page {
			if m.Author == nil || m.Author.ID != me.ID {
				continue
			}
			sent, known, err := d.Hub.SentAs(ctx, conversation, m.ID)
			if err != nil {
				return message{}, err
			}
			if (!known || sent.Reply == reply) && is(m) {
				return m, nil
			}
		}
		if len(page) < maxPage || after == "" {
			break
		}
		after = page[len(page)-1].ID
	}
	return message{}, nil
}

func nonceOf(conversation string, p channel.Piece) string {
	return nonce(conversation, p.Reply, p.Part)
}

// emoji are the reactions as Discord shows them.
var emoji = map[channel.Reaction]string{channel.ReactionSummarized: "📚", channel.ReactionUnanswered: "🔇"}

// React adds a reaction to a message. If the bot lacks the permission, it logs that once per channel and returns nil.
func (d *Discord) React(ctx context.Context, conversation, id string, reaction channel.Reaction) error {
	place := channelID(conversation)
	path := "/channels/" + place + "/messages/" + id + "/reactions/" + url.PathEscape(emoji[reaction]) + "/@me"
	err := d.rest.do(ctx, call{method: http.MethodPut, path: path, background: true})
	if refusalIn(err).code != codeNotPermitted {
		return err
	}
	if !d.reactionRefused.Seen(place) {
		d.Log.Warn("reaction_refused", "missing_permissions", "Add Reactions, Read Message History", "channel", place)
	}
	return nil
}

// messages splits replies at 2000 UTF-16 units, the strictest reading of Discord's "2000 characters" (Message: Create Message).
var messages = platform.Splitter{Limit: 2000, Spoilers: true}

// markdown is what Discord knows of it (Discord, Markdown Text 101).
var markdown = platform.Markdown{Underline: true}

// Split splits a reply into messages.
func (d *Discord) Split(text string) []string {
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

func parseCustomID(id string) (line string, page int, ok bool) {
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
	return answerPost(messages.Fit(answer.Page(n)), 0,
		button(sentences.In(answer.Language).Translate(command.TextPrevious), customID(line, n-1), n == 0),
		button(sentences.In(answer.Language).Translate(command.TextNext), customID(line, n+1), n == answer.Pages()-1))
}

// showAnswer replaces the deferral, or the message whose button was pressed, with page n of a list or with a text. A private
// answer to what all see is a message of its own; a deferral must be deleted first, or that would be public too.
func (d *Discord) showAnswer(ctx context.Context, i interaction, line string, n int, answer command.Answer) error {
	answer = answer.Fenced()
	if answer.Private && i.flags() == 0 {
		if !i.isButton() {
			if err := d.rest.do(ctx, call{method: http.MethodDelete, path: d.originalPath(i), ownToken: true}); err != nil {
				return err
			}
		}
		return d.followUp(ctx, i, answer.String(), int(discordgo.MessageFlagsEphemeral))
	}
	first := page(line, answer, n)
	more := []string(nil)
	if answer.Pages() == 1 || customID(line, answer.Pages()) == "" {
		pieces := d.Split(answer.String())
		first = answerPost(pieces[0], 0)
		more = pieces[1:]
	}
	err := d.rest.do(ctx, call{method: http.MethodPatch, path: d.originalPath(i), body: first, ownToken: true})
	for _, piece := range more {
		if err == nil {
			err = d.followUp(ctx, i, piece, i.flags())
		}
	}
	return err
}

// followUp sends another message about an interaction. Discord accepts no nonce here, so a repetition could post it twice.
func (d *Discord) followUp(ctx context.Context, i interaction, text string, flags int) error {
	p := answerPost(text, flags)
	return d.rest.do(ctx, call{method: http.MethodPost, path: d.webhookPath(i), body: p, ownToken: true, notIdempotent: true})
}

func (d *Discord) webhookPath(i interaction) string {
	app := d.state.self().app
	return "/webhooks/" + cmp.Or(i.AppID, app) + "/" + i.Token
}

func (d *Discord) originalPath(i interaction) string { return d.webhookPath(i) + "/messages/@original" }

// runText runs a command that was written as a message, and posts the answer as a reply to it.
func (d *Discord) runText(ctx context.Context, name string, m message, in channel.Inbound, ran chan<- struct{}) error {
	p := chat.ParsePlace(name)
	who := channel.Person{ID: in.AuthorID, Name: in.Author}
	if m.Member != nil {
		who.Roles = m.Member.Roles
	}
	who.Manager = p.Direct() || d.state.guild(p.Server).trusts(in.AuthorID, who.Roles)
	place := channelID(name)
	first := "" // the id of the answer's first message
	show := func(ctx context.Context, answer command.Answer) error {
		pieces := d.Split(answer.Fenced().String())
		to := in.ID
		key := in.ID
		if first != "" {
			if err := d.editMessage(ctx, place, first, pieces[0], false); err != nil {
				return err
			}
			pieces = pieces[1:]
			to = ""
			key = "then " + first
		}
		for n, text := range pieces {
			made, err := d.create(ctx, place, newPost(place, text, to, nonce("command", name, key, n)), false)
			if err != nil {
				return err
			}
			first = cmp.Or(first, made.ID)
			to = ""
		}
		return nil
	}
	return d.RunCommand(ctx, name, who, in.Text, ran, platform.Reaching(d, name, who, show))
}
