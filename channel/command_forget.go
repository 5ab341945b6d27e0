package channel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/privacy"
	"cairn/store"
)

// Deletion of a person's data, and opting out. The platform's id identifies a person, never the name.

// aboutMe reports whether the argument of /forget is about the person who asks.
func aboutMe(args string) bool {
	words := strings.Fields(args)
	return len(words) > 0 && strings.EqualFold(words[0], "me")
}

// runForgetMe shows what would be deleted, here or everywhere; with a "yes" it deletes it.
func runForgetMe(ctx context.Context, c *conversation, who Person, args string) (Answer, error) {
	words := strings.Fields(strings.ToLower(args))
	everywhere := slices.Contains(words, "everywhere")
	yes := slices.Contains(words, "yes")
	for _, word := range words {
		if !slices.Contains([]string{"me", "everywhere", "yes"}, word) {
			return Answer{}, errPeople(c.sayf("I do not know what %q means here. Use /forget me for this conversation, or /forget me everywhere.", word))
		}
	}
	if who.ID == "" {
		return Answer{}, errPeople("I cannot identify you here, so I do not know which messages are yours.")
	}
	if err := c.hub.o.Store.Held().Deliver(ctx); err != nil { // what they said before this
		return Answer{}, err
	}
	in := []*store.Conversation{c.records}
	where := "in this conversation"
	again := c.sayf("/forget me yes")
	typist := privacy.Who{Connector: chat.ParsePlace(c.name).Connector, ID: who.ID, Name: who.Name}
	traces, err := privacy.Of(c.records).Traces(ctx, typist)
	if everywhere {
		var each privacy.Holdings
		where = "across all our conversations"
		again = c.sayf("/forget me everywhere yes")
		in, each, err = privacy.In(c.hub.o.Store).Everywhere(ctx, typist)
		traces = each.Total()
	}
	switch {
	case err != nil:
		return Answer{}, err
	case traces.Messages+traces.Memories == 0 && !yes:
		return Answer{Text: fmt.Sprintf("I have nothing from you %s.", where)}, nil
	case !yes:
		return Answer{Text: c.sayf("This permanently deletes %s of yours %s: the text, its attachments, quotes of it, and the memories that came from you or are about you. "+
			"I rewrite summaries without it. Within 24 hours it is gone from my files and their backups too. Other people's messages stay. So do my own answers, which may repeat you, except answers made without a model that quote you. "+
			"What you write from now on is saved as before; /optout keeps it out of my memories.\nType %s to confirm.",
			c.translated(traces.String()), c.translated(where), again)}, nil
	}
	if _, err := privacy.In(c.hub.o.Store).Erase(ctx, typist, in...); err != nil {
		return Answer{}, err
	}
	for _, records := range in {
		c.hub.rereadSettings(records)
		c.hub.post(records.Name(), (*conversation).forgetFocus)
		c.hub.settle(records.Name())
	}
	// A compaction that began meanwhile may have stored their focus once more.
	if err := privacy.In(c.hub.o.Store).EraseTyped(ctx, typist, in...); err != nil {
		return Answer{}, err
	}
	end := c.hub.eraseAll(who.ID, in...)
	return Answer{
		Text: "I am deleting it in the background; you do not have to wait.", Forgets: true, Awaited: true,
		Then: func(ctx context.Context) string {
			select {
			case err := <-end:
				if err == nil {
					return c.sayf("Deleted: everything of yours %s. I rewrite summaries that contained it from other people's messages. Within 24 hours it is gone from my files and their backups too. My own answers stay, except answers made without a model that quote you.", c.translated(where))
				}
			case <-ctx.Done():
			}
			return c.translated("Not everything is deleted yet; I will continue in the background.")
		},
	}, nil
}

// settle waits until an open conversation's loop has handled what was posted to it.
func (h *Hub) settle(name string) {
	if c, _ := h.find(name, nil); c != nil {
		_ = c.tryDo(func(*compactor.Compactor) {}) // an error means that the loop has ended
		h.release(c)
	}
}

func (c *conversation) forgetFocus() {
	if c.engine != nil {
		compactor.ForgetFocus(c.engine)
	}
}

// eraseAll deletes a person's traces from conversations, in the background and in small steps. The next start continues
// with what is left when the hub closes. The result is sent when it has ended.
func (h *Hub) eraseAll(author string, in ...*store.Conversation) <-chan error {
	end := make(chan error, 1)
	started := h.background(func() {
		var failed error
		for _, records := range in {
			err := h.erase(author, records)
			failed = errors.Join(failed, err)
			if err != nil && h.ctx.Err() == nil {
				h.o.Log.Warn("delete_messages_failed", "effect", "the next start continues", "conversation", records.Name(), "error", err)
			}
		}
		end <- failed
	})
	if !started {
		end <- ErrClosed
	}
	return end
}

func (h *Hub) erase(author string, records *store.Conversation) error {
	for h.ctx.Err() == nil {
		some, err := privacy.Of(records).EraseSome(h.ctx, author)
		if err != nil {
			return err
		}
		if some.Done {
			return nil
		}
		time.Sleep(5 * time.Millisecond) // others may write
	}
	return h.ctx.Err()
}

// resumeErasures resumes the erasures that an earlier process left unfinished.
func (h *Hub) resumeErasures(ctx context.Context, match func(conversation string) bool) error {
	due, err := privacy.In(h.o.Store).Erasures(ctx)
	for _, one := range due {
		if _, known := h.connectors[connectorOf(one.Conversation)]; !known || !match(one.Conversation) {
			continue
		}
		records, failed := h.o.Store.Find(ctx, one.Conversation)
		if failed == nil {
			h.eraseAll(one.Author, records)
		}
		err = errors.Join(err, failed)
	}
	return err
}

// runOptOut keeps the person who asks out of memories, here and everywhere their connector reaches.
func runOptOut(ctx context.Context, c *conversation, who Person, args string) (Answer, error) {
	off := strings.EqualFold(args, "off")
	switch {
	case args != "" && !off:
		return Answer{}, errPeople(c.sayf("Use /optout or /optout off."))
	case who.ID == "":
		return Answer{}, errPeople("I cannot identify you here, so I do not know which messages are yours.")
	}
	if _, err := privacy.Of(c.records).OptOut(ctx, who.ID, who.Name, !off); err != nil {
		return Answer{}, err
	}
	if off {
		return Answer{Text: "From now on, I may save memories of what you write again."}, nil
	}
	return Answer{Text: c.sayf("From now on, I save no memories of what you write and none about you, in any conversation. The memories I already have of you stay until /forget me. Conversations are saved as before, and their summaries still contain your messages. /optout off reverts this.")}, nil
}
