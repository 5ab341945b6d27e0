// Reactions of people that run commands (reference/events/reaction_added).

package slack

import (
	"cmp"
	"context"

	slackgo "github.com/slack-go/slack"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/chat"
	"cairn/connector/platform"
)

// onReaction runs the command of a reaction that counts, and acknowledges the event then. Who is unknown to Slack, or a bot, runs none.
func (r *commands) onReaction(e message, ack func()) {
	found, counts := platform.FindReaction(r.reactions, func(one platform.Reaction) bool { return one.Name == e.Reaction })
	if !counts || e.Item.Type != "message" || e.Item.Channel == "" || e.User == "" || e.User == r.self.user {
		ack()
		return
	}
	channelID := e.Item.Channel
	ts := e.Item.TS
	place := r.recent.placeOf(channelID, message{TS: ts})
	r.base.Command("", place.String(), runTimeout, nil, func(ctx context.Context) error {
		name, admin, bot, err := lookUpPerson(ctx, r.api.read, e.User)
		if err != nil {
			return err
		}
		if bot {
			ack()
			return nil
		}
		r.queue.Settle(ctx, "")
		where, err := r.whereIs(ctx, place, ts)
		if err != nil {
			return err
		}
		reacted := platform.Reacted{
			Reaction: found, Conversation: where, Message: ts, Author: e.ItemUser,
			Person: access.Person{ID: e.User, Name: cmp.Or(name, e.User), Manager: admin},
		}
		mark := func(ctx context.Context) error { return r.poster.mark(ctx, channelID, ts, found.Name) }
		tell := func(ctx context.Context, text string) error { return r.poster.Whisper(ctx, where, e.User, text) }
		return r.base.RunReaction(ctx, reacted, r.self.user, ack, mark, tell)
	})
}

// whereIs returns the conversation where people see a message: the event does not say whether it is in a thread.
func (r *commands) whereIs(ctx context.Context, place chat.Place, ts string) (string, error) {
	if place.Thread == "" {
		place = r.recent.placeOf(place.Channel, message{TS: ts}) // it may have come since
	}
	if place.Thread != "" {
		return place.String(), nil
	}
	return channel.WhereIs(ctx, r.base.Hub, place.String(), ts)
}

// mark adds a reaction of the bot to a message. If the app lacks the scope, it logs that once and returns nil.
func (p *poster) mark(ctx context.Context, channelID, ts, name string) error {
	if p.cannotReact.Load() {
		return nil
	}
	err := p.api.write.AddReactionContext(ctx, name, slackgo.NewRefToMessage(channelID, ts))
	switch codeOf(err) {
	case "already_reacted":
		return nil
	case "missing_scope":
		if !p.cannotReact.Swap(true) {
			p.base.Log.Warn("reaction_refused", "problem", explainBotError(err))
		}
		return nil
	}
	return err
}
