package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/privacy"
	"cairn/store"
)

// Deletion of a person's data, and opting out. The platform's id identifies a person, never the name.

// aboutMe reports whether the argument of /forget is about the person who asks.
func aboutMe(args string) bool {
	words := strings.Fields(args)
	return len(words) > 0 && strings.EqualFold(words[0], "me")
}

// request is what "/forget me" asks for: everything, here or everywhere.
type request struct {
	everywhere bool
	confirmed  bool // with "yes"
}

func requestOf(c *Call) (request, error) {
	words := strings.Fields(strings.ToLower(c.Args))
	for _, word := range words {
		if !slices.Contains([]string{"me", "everywhere", "yes"}, word) {
			return request{}, sentences.NewProblem(c.Speaker.Sayf("I do not know what %q means here. Use /forget me for this conversation, or /forget me everywhere.", word))
		}
	}
	return request{everywhere: slices.Contains(words, "everywhere"), confirmed: slices.Contains(words, "yes")}, nil
}

// where says where the request deletes.
func (r request) where() string {
	if r.everywhere {
		return "across all our conversations"
	}
	return "in this conversation"
}

// again is the command that confirms the request.
func (r request) again() string {
	if r.everywhere {
		return "/forget me everywhere yes"
	}
	return "/forget me yes"
}

// runForgetMe shows what would be deleted, here or everywhere; with a "yes" it deletes it.
func runForgetMe(ctx context.Context, c *Call) (Answer, error) {
	r, err := requestOf(c)
	if err != nil {
		return Answer{}, err
	}
	if c.Who.ID == "" {
		return Answer{}, sentences.NewProblem(textUnidentified)
	}
	if err := c.Records.Store().Update(ctx, func(*store.Tx) {}); err != nil { // what they wrote before this is stored first
		return Answer{}, err
	}
	who := store.Person{Connector: chat.ParsePlace(c.Records.Name()).Connector, ID: c.Who.ID, Name: c.Who.Name}
	in, holding, err := holdingOf(ctx, c, who, r.everywhere)
	switch {
	case err != nil:
		return Answer{}, err
	case r.confirmed:
		return forget(ctx, c, who, r.where(), in)
	case holding.Messages+holding.Memories == 0:
		return Answer{Text: fmt.Sprintf("I have nothing from you %s.", r.where())}, nil
	}
	return Answer{Text: c.Speaker.Sayf("This permanently deletes %s of yours %s: the text, its attachments, quotes of it, and the memories that came from you or are about you. "+
		"I rewrite summaries without it. Within 24 hours it is gone from my files and their backups too. Other people's messages stay. So do my own answers, which may repeat you, except answers made without a model that quote you. "+
		"What you write from now on is saved as before; /optout keeps it out of my memories.\nType %s to confirm.",
		c.Speaker.Translate(holding.String()), c.Speaker.Translate(r.where()), c.Speaker.Say(r.again()))}, nil
}

const textUnidentified = "I cannot identify you here, so I do not know which messages are yours."

// holdingOf returns what the bot has of a person, and in which conversations.
func holdingOf(ctx context.Context, c *Call, who store.Person, everywhere bool) (in []*store.Conversation, holding privacy.Holding, err error) {
	if everywhere {
		in, each, err := privacy.In(c.Records.Store()).Everywhere(ctx, who)
		return in, each.Total(), err
	}
	holding, err = privacy.Of(c.Records).Traces(ctx, who)
	return []*store.Conversation{c.Records}, holding, err
}

// forget deletes a person's data in the background.
func forget(ctx context.Context, c *Call, who store.Person, where string, in []*store.Conversation) (Answer, error) {
	done, err := c.Conversation.Forget(ctx, who, in)
	if err != nil {
		return Answer{}, err
	}
	return Answer{
		Text: "I am deleting it in the background; you do not have to wait.", Forgets: true, Awaited: true,
		Then: func(ctx context.Context) Answer {
			select {
			case err := <-done:
				if err == nil {
					return Answer{Text: c.Speaker.Sayf("Deleted: everything of yours %s. I rewrite summaries that contained it from other people's messages. Within 24 hours it is gone from my files and their backups too. My own answers stay, except answers made without a model that quote you.", c.Speaker.Translate(where))}
				}
			case <-ctx.Done():
			}
			return Answer{Text: c.Speaker.Translate("Not everything is deleted yet; I will continue in the background.")}
		},
	}, nil
}

// runOptOut keeps the person who asks out of memories, here and everywhere their connector reaches.
func runOptOut(ctx context.Context, c *Call) (Answer, error) {
	off := strings.EqualFold(c.Args, "off")
	switch {
	case c.Args != "" && !off:
		return Answer{}, sentences.NewProblem(c.Speaker.Sayf("Use /optout or /optout off."))
	case c.Who.ID == "":
		return Answer{}, sentences.NewProblem(textUnidentified)
	}
	if _, err := privacy.Of(c.Records).OptOut(ctx, c.Who.ID, c.Who.Name, !off); err != nil {
		return Answer{}, err
	}
	if off {
		return Answer{Text: "From now on, I may save memories of what you write again."}, nil
	}
	return Answer{Text: c.Speaker.Sayf("From now on, I save no memories of what you write and none about you, in any conversation. The memories I already have of you stay until /forget me. Conversations are saved as before, and their summaries still contain your messages. /optout off reverts this.")}, nil
}
