// Answers to commands: over the interaction, with buttons for the pages of a list, or as a reply to a written command.

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
	p.Flags, p.Components = flags, []discordgo.MessageComponent{}
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
func page(line string, answer channel.Answer, n int) post {
	n = min(max(n, 0), answer.Pages()-1)
	return answerPost(messages.Fit(answer.Page(n)), 0,
		button(channel.Translated(answer.Language, channel.TextPrevious), customID(line, n-1), n == 0),
		button(channel.Translated(answer.Language, channel.TextNext), customID(line, n+1), n == answer.Pages()-1))
}

// showAnswer replaces the deferral, or the message whose button was pressed, with page n of a list or with a text. A private
// answer to what all see is a message of its own; a deferral must be deleted first, or that would be public too.
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
		first, more = answerPost(pieces[0], 0), pieces[1:]
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
	return d.rest.do(ctx, call{method: http.MethodPost, path: d.webhookPath(i), body: answerPost(text, flags), ownToken: true, notIdempotent: true})
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
	who.Manager = p.Direct() || d.state.guild(p.Server).trusts(in.AuthorID, who.Roles)
	place, first := channelID(name), "" // the id of the answer's first message
	return d.RunCommand(ctx, name, who, in.Text, func(ctx context.Context, answer channel.Answer, refused bool) error {
		pieces, to, key := d.Split(answer.Fenced().String()), in.ID, in.ID
		if refused { // as for other messages
			return nil
		}
		if first != "" {
			if err := d.editMessage(ctx, place, first, pieces[0], false); err != nil {
				return err
			}
			pieces, to, key = pieces[1:], "", "then "+first
		}
		for n, text := range pieces {
			made, err := d.create(ctx, place, newPost(place, text, to, nonce("command", name, key, n)), false)
			if err != nil {
				return err
			}
			first, to = cmp.Or(first, made.ID), ""
		}
		return nil
	})
}
