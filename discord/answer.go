// Answers to commands: over the interaction, or as a reply to a written command.

package discord

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/internal/platform"
)

func textAnswer(text string) post {
	return post{Content: text, Mentions: noMentions(), Components: []discordgo.MessageComponent{}}
}

// runSlash runs a slash command and answers it. Only the sender sees the answer, unless the command
// is public.
func (d *Discord) runSlash(ctx context.Context, i interaction) error {
	command, _ := channel.FindCommand(i.Data.Name)
	deferred := map[string]any{"flags": flagsOf(command)}
	if err := d.callback(ctx, i, discordgo.InteractionResponseDeferredChannelMessageWithSource, deferred); err != nil {
		return err
	}
	line := i.line()
	answer, _, err := platform.Run(ctx, d.hub, d.conversationOf(ctx, i), i.person(), line)
	if answer.Private {
		return errors.Join(err, d.answerPrivately(ctx, i, command.Public, answer.String()))
	}
	if err := d.showAnswer(ctx, i, line, answer); err != nil || answer.Then == nil {
		return err
	}
	text := answer.Then(ctx)
	if text == "" {
		if ctx.Err() == nil {
			return nil
		}
		text = channel.Translated(answer.Language, channel.TextUnfinished)
	}
	return d.showAnswer(context.WithoutCancel(ctx), i, line, channel.Answer{Text: text})
}

// answerPrivately sends an answer that only the sender sees. A public deferral must be deleted
// first, or the follow-up would be public too.
func (d *Discord) answerPrivately(ctx context.Context, i interaction, public bool, text string) error {
	if !public {
		return d.editAnswer(ctx, i, textAnswer(text))
	}
	if err := d.rest.do(ctx, call{method: http.MethodDelete, path: d.originalPath(i), ownToken: true}); err != nil {
		return err
	}
	return d.followUp(ctx, i, text, int(discordgo.MessageFlagsEphemeral))
}

// showAnswer sends an answer: the first page of a list with buttons for the others, or a text in as
// many messages as it needs.
func (d *Discord) showAnswer(ctx context.Context, i interaction, line string, answer channel.Answer) error {
	answer = answer.Fenced()
	if answer.Pages() > 1 && customID(line, answer.Pages()) != "" {
		return d.editAnswer(ctx, i, page(line, answer, 0))
	}
	pieces := d.Split(answer.String())
	if err := d.editAnswer(ctx, i, textAnswer(pieces[0])); err != nil {
		return err
	}
	command, _ := channel.FindCommand(i.Data.Name)
	for _, piece := range pieces[1:] {
		if err := d.followUp(ctx, i, piece, flagsOf(command)); err != nil {
			return err
		}
	}
	return nil
}

// flagsOf returns the flags of a command's answer: only the sender sees it, unless the command is
// public.
func flagsOf(c channel.Command) int {
	if c.Public {
		return 0
	}
	return int(discordgo.MessageFlagsEphemeral)
}

// editAnswer replaces the deferral, or the message whose button was pressed.
func (d *Discord) editAnswer(ctx context.Context, i interaction, s post) error {
	return d.rest.do(ctx, call{method: http.MethodPatch, path: d.originalPath(i), body: s, ownToken: true})
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
	who := channel.Person{ID: in.AuthorID, Name: in.Author, Manager: p.Direct()}
	if m.Member != nil {
		who.Roles = m.Member.Roles
	}
	roles := append([]string{p.Server}, who.Roles...) // everyone has the role with the server's id
	who.Manager = who.Manager || d.state.guild(p.Server).trusts(in.AuthorID, roles)
	answer, refused, err := platform.Run(ctx, d.hub, name, who, in.Text)
	if refused || errors.Is(err, channel.ErrClosed) {
		return nil
	}
	first, failed := d.postAll(ctx, name, in.ID, d.Split(answer.Fenced().String()), in.ID)
	if err := errors.Join(err, failed); err != nil || answer.Then == nil {
		return err
	}
	text := answer.Then(ctx)
	if text == "" {
		return nil
	}
	pieces := d.Split(text)
	if err := d.editMessage(ctx, channelID(name), first, pieces[0], false); err != nil {
		return err
	}
	_, err = d.postAll(ctx, name, "", pieces[1:], "then "+first)
	return err
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
