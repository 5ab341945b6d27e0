// Answers to commands: over the interaction, or as a reply to a written command.

package discord

import (
	"cmp"
	"context"
	"net/http"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/chat"
	"cairn/connector/platform"
)

// showAnswer replaces the deferral, or the message whose button was pressed, with page n of a list or with a text. A private
// answer to what all see is a separate message; a deferral must be deleted first, or that would be public too.
func (c *commands) showAnswer(ctx context.Context, i interaction, line string, n int, answer command.Answer) error {
	answer = answer.Fenced()
	if (answer.Private || answer.Refused && i.isButton()) && i.flags() == 0 {
		if !i.isButton() {
			if err := c.rest.do(ctx, call{method: http.MethodDelete, path: c.originalPath(i), tokenInPath: true}); err != nil {
				return err
			}
		}
		return c.followUp(ctx, i, answer.String(), int(discordgo.MessageFlagsEphemeral), answer.Buttons)
	}
	first := page(line, answer, n)
	more := []string(nil)
	if answer.Pages() == 1 || customID(line, answer.Pages()) == "" {
		pieces := split(answer.String())
		first = answerPost(pieces[0], 0)
		more = pieces[1:]
		if len(more) == 0 {
			first.add(menu(answer, 0)...)
			first.add(commandButtons(answer.Buttons)...)
		}
	}
	err := c.rest.do(ctx, call{method: http.MethodPatch, path: c.originalPath(i), body: first, tokenInPath: true})
	for n, piece := range more {
		var buttons []channel.Button
		if n == len(more)-1 {
			buttons = answer.Buttons
		}
		if err == nil {
			err = c.followUp(ctx, i, piece, i.flags(), buttons)
		}
	}
	return err
}

// followUp sends another message about an interaction. Discord accepts no nonce here, so a repetition could post it twice.
func (c *commands) followUp(ctx context.Context, i interaction, text string, flags int, buttons []channel.Button) error {
	p := answerPost(text, flags, commandButtons(buttons)...)
	return c.rest.do(ctx, call{method: http.MethodPost, path: c.webhookPath(i), body: p, tokenInPath: true, notIdempotent: true})
}

func (c *commands) webhookPath(i interaction) string {
	app := c.state.self().app
	return "/webhooks/" + cmp.Or(i.AppID, app) + "/" + i.Token
}

func (c *commands) originalPath(i interaction) string {
	return c.webhookPath(i) + "/messages/@original"
}

// runText runs a command that was written as a message, and posts the answer as a reply to it.
func (c *commands) runText(ctx context.Context, name string, m message, in channel.Inbound, ran chan<- struct{}) error {
	p := chat.ParsePlace(name)
	who := access.Person{ID: in.AuthorID, Name: in.Author}
	if m.Member != nil {
		who.Roles = m.Member.Roles
	}
	who.Manager = p.Direct() || c.state.guild(p.Server).trusts(in.AuthorID, who.Roles)
	place := channelID(name)
	if platform.Deletes(in.Text) {
		c.queue.Settle(ctx, place) // whose queue waits for this command
	}
	first := "" // the id of the answer's first message
	show := func(ctx context.Context, answer command.Answer) error {
		pieces := split(answer.Fenced().String())
		buttons := commandButtons(answer.Buttons)
		last := len(pieces) - 1
		to := in.ID
		key := in.ID
		if first != "" {
			edited := answerPost(pieces[0], 0)
			if last == 0 {
				edited.add(buttons...)
			}
			if err := c.poster.change(ctx, place, first, edited, false); err != nil {
				return err
			}
			pieces = pieces[1:]
			last--
			to = ""
			key = "then " + first
		}
		for n, text := range pieces {
			post := newPost(place, text, to, nonce("command", name, key, n))
			if n == last {
				post.add(buttons...)
			}
			posted, err := c.poster.create(ctx, place, post, false)
			if err != nil {
				return err
			}
			first = cmp.Or(first, posted.ID)
			to = ""
		}
		return nil
	}
	return c.base.RunCommand(ctx, name, who, in.Text, ran, platform.Reaching(besideThreads{c.poster}, name, who, show))
}
