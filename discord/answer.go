// Answers to commands: over the interaction, with buttons for the pages of a list, or as a reply to a
// written command.

package discord

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
)

// maxCustomID is the maximum length of a button's id (Discord, Components: Custom ID).
const maxCustomID = 100

// customID returns the id of a button that shows a page of a command's answer; empty if the line is too long for one.
func customID(line string, page int) string {
	if id := fmt.Sprintf("page %d %s", page, line); len(id) <= maxCustomID {
		return id
	}
	return ""
}

// parseCustomID decodes an id made by customID.
func parseCustomID(id string) (line string, page int, ok bool) {
	rest, isPage := strings.CutPrefix(id, "page ")
	n, line, more := strings.Cut(rest, " ")
	page, err := strconv.Atoi(n)
	return line, page, isPage && more && err == nil && strings.HasPrefix(line, "/")
}

func buttonOf(label, id string, disabled bool) discordgo.MessageComponent {
	return discordgo.Button{Style: discordgo.SecondaryButton, Label: label, CustomID: id, Disabled: disabled}
}

// rowOf returns a row of buttons; nil if there are none.
func rowOf(buttons ...discordgo.MessageComponent) []discordgo.MessageComponent {
	if len(buttons) == 0 {
		return nil
	}
	return []discordgo.MessageComponent{discordgo.ActionsRow{Components: buttons}}
}

// buttons returns a row of buttons that run commands; nil if there are none.
func buttons(all []channel.Button) []discordgo.MessageComponent {
	var row []discordgo.MessageComponent
	for _, b := range all {
		row = append(row, buttonOf(b.Label, customID(b.Line, 0), false))
	}
	return rowOf(row...)
}

// textAnswer returns a text without buttons, for a message that may have some.
func textAnswer(text string) post {
	p := textPost(text)
	p.Components = []discordgo.MessageComponent{}
	return p
}

// page renders page n of a list, with buttons for the previous and the next one.
func page(line string, answer channel.Answer, n int) post {
	n = min(max(n, 0), answer.Pages()-1)
	s := textAnswer(messages.Fit(answer.Page(n)))
	s.Components = rowOf(
		buttonOf(channel.Translated(answer.Language, channel.TextPrevious), customID(line, n-1), n == 0),
		buttonOf(channel.Translated(answer.Language, channel.TextNext), customID(line, n+1), n == answer.Pages()-1),
	)
	return s
}

// showAnswer replaces the deferral, or the message whose button was pressed, with an answer: page n of a list, or
// a text in as many messages as it needs. A private answer to what all see is a message of its own; a
// deferral must be deleted first, or that would be public too.
func (d *Discord) showAnswer(ctx context.Context, i interaction, line string, n int, answer channel.Answer) error {
	answer = answer.Fenced()
	if answer.Private && i.flags() == 0 {
		if !i.isButton() {
			if err := d.rest.do(ctx, call{method: http.MethodDelete, path: d.originalPath(i), ownToken: true}); err != nil {
				return err
			}
		}
		return d.followUp(ctx, i, answer.String(), int(discordgo.MessageFlagsEphemeral))
	}
	first, more := page(line, answer, n), []string(nil)
	if answer.Pages() == 1 || customID(line, answer.Pages()) == "" {
		pieces := d.Split(answer.String())
		first, more = textAnswer(pieces[0]), pieces[1:]
	}
	err := d.rest.do(ctx, call{method: http.MethodPatch, path: d.originalPath(i), body: first, ownToken: true})
	for _, piece := range more {
		if err == nil {
			err = d.followUp(ctx, i, piece, i.flags())
		}
	}
	return err
}

// followUp sends another message about an interaction. Discord accepts no nonce here, so a
// repetition could post it twice.
func (d *Discord) followUp(ctx context.Context, i interaction, text string, flags int) error {
	s := textAnswer(text)
	s.Flags = flags
	return d.rest.do(ctx, call{method: http.MethodPost, path: d.webhookPath(i), body: s, ownToken: true, notIdempotent: true})
}

func (d *Discord) webhookPath(i interaction) string {
	_, app := d.state.self()
	return "/webhooks/" + cmp.Or(i.AppID, app) + "/" + i.Token
}

func (d *Discord) originalPath(i interaction) string { return d.webhookPath(i) + "/messages/@original" }

// runText runs a command that was written as a message, and posts the answer as a reply to it.
func (d *Discord) runText(ctx context.Context, name string, m message, in channel.Inbound) error {
	p := channel.ParsePlace(name)
	who := channel.Person{ID: in.AuthorID, Name: in.Author}
	if m.Member != nil {
		who.Roles = m.Member.Roles
	}
	roles := append([]string{p.Server}, who.Roles...) // everyone has the role with the server's id
	who.Manager = p.Direct() || d.state.guild(p.Server).trusts(in.AuthorID, roles)
	first := "" // the id of the answer
	return d.RunCommand(ctx, name, who, in.Text, func(ctx context.Context, answer channel.Answer, refused bool) error {
		pieces, to, key := d.Split(answer.Fenced().String()), in.ID, in.ID
		if refused { // as for other messages
			return nil
		}
		if first != "" {
			if err := d.editMessage(ctx, channelID(name), first, pieces[0], false); err != nil {
				return err
			}
			pieces, to, key = pieces[1:], "", "then "+first
		}
		posted, err := d.postAll(ctx, name, to, pieces, key)
		first = cmp.Or(first, posted)
		return err
	})
}

// postAll posts texts and returns the id of the first message, which replies to the message to
// unless that is empty. The nonces are derived from key.
func (d *Discord) postAll(ctx context.Context, name, to string, texts []string, key string) (first string, err error) {
	for n, text := range texts {
		made, err := d.create(ctx, channelID(name), newPost(channelID(name), text, to, nonce("command", name, key, n)), false)
		if err != nil {
			return first, err
		}
		if n == 0 {
			first, to = made.ID, ""
		}
	}
	return first, nil
}
