// Reactions of people that run commands.

package discord

import (
	"context"
	"net/url"

	"cairn/channel/access"
	"cairn/connector/platform"
)

// reaction is a reaction that was put on a message (Discord, Gateway Events: Message Reaction Add).
type reaction struct {
	UserID    string  `json:"user_id"`
	ChannelID string  `json:"channel_id"`
	MessageID string  `json:"message_id"`
	GuildID   string  `json:"guild_id"`
	Member    *member // in a server
	Emoji     struct{ ID, Name string }
	Author    string `json:"message_author_id"`
}

// person returns who reacted; ok is false for the bot itself, other bots, and whom the event does not describe.
func (e *events) person(r reaction) (who access.Person, ok bool) {
	m := r.Member
	switch {
	case r.UserID == "" || r.UserID == e.state.self().ID:
		return who, false
	case r.GuildID == "": // only one person can react there
		return access.Person{ID: r.UserID, Manager: true}, true
	case m == nil || m.User == nil || m.User.Bot:
		return who, false
	}
	return access.Person{
		ID: r.UserID, Name: m.User.name(r.GuildID, m), Roles: m.Roles, Manager: e.state.guild(r.GuildID).trusts(r.UserID, m.Roles),
	}, true
}

// onReaction runs the command of a reaction that counts, after the messages that came before it.
func (e *events) onReaction(r reaction) {
	found, counts := platform.FindReaction(e.commands.reactions, func(one platform.Reaction) bool { return one.Emoji == r.Emoji.Name && r.Emoji.ID == "" })
	if !counts || r.MessageID == "" {
		return
	}
	e.enqueue(r.ChannelID, r.GuildID, func(_ context.Context, p place) {
		who, ok := e.person(r)
		if !ok {
			return
		}
		name := p.conversation()
		reacted := platform.Reacted{Reaction: found, Conversation: name, Message: r.MessageID, Author: r.Author, Person: who}
		mark := func(ctx context.Context) error {
			return e.commands.poster.mark(ctx, r.ChannelID, r.MessageID, found.Emoji)
		}
		ran := make(chan struct{})
		e.base.Command("", name, textTimeout, ran, func(ctx context.Context) error {
			return e.base.RunReaction(ctx, reacted, e.state.self().ID, func() { close(ran) }, mark, nil)
		})
	})
}

// mark adds a reaction of the bot to a message. If the bot lacks the permission, it logs that once per channel and returns nil.
func (p *poster) mark(ctx context.Context, place, id, emoji string) error {
	path := "/channels/" + place + "/messages/" + id + "/reactions/" + url.PathEscape(emoji) + "/@me"
	err := p.rest.do(ctx, call{method: "PUT", path: path, background: true})
	if refusalIn(err).code != codeNotPermitted {
		return err
	}
	if !p.reactionRefused.Seen(place) {
		p.base.Log.Warn("reaction_refused", "missing_permissions", "Add Reactions, Read Message History", "channel", place)
	}
	return nil
}
