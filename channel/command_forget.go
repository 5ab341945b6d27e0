package channel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cairn/chat"
	"cairn/privacy"
	"cairn/store"
)

// Deletion of the data stored about a person, and opting out. People are identified by the
// platform's id, never by name.

// aboutMe reports whether the argument of /forget is about the person who asks.
func aboutMe(args string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(args), " ")
	return strings.EqualFold(first, "me")
}

// runForgetMe shows what would be deleted, here or everywhere; with a "yes" it deletes it.
func runForgetMe(ctx context.Context, c *conversation, who Person, args string) (Answer, error) {
	everywhere, yes := false, false
	for _, word := range strings.Fields(args)[1:] {
		switch strings.ToLower(word) {
		case "everywhere":
			everywhere = true
		case "yes":
			yes = true
		default:
			return Answer{}, errPeople(c.sayf("I do not know what %q means here. Use /forget me for this conversation, or /forget me everywhere.", word))
		}
	}
	if who.ID == "" {
		return Answer{}, errPeople("I cannot tell who you are here, so I cannot tell what is yours.")
	}
	if err := c.hub.o.Store.Held().Deliver(ctx); err != nil { // what they said before this
		return Answer{}, err
	}
	in, where, again := []*store.Conversation{c.records}, "in this conversation", c.sayf("/forget me yes")
	traces, err := privacy.Of(c.records).Traces(ctx, who.ID)
	if everywhere {
		var each privacy.Holdings
		where, again = "across all our conversations", c.sayf("/forget me everywhere yes")
		in, each, err = privacy.In(c.hub.o.Store).Everywhere(ctx, ParsePlace(c.name).Connector, who.ID)
		traces = each.Total()
	}
	switch {
	case err != nil:
		return Answer{}, err
	case traces.Messages+traces.Memories == 0 && !yes:
		return Answer{Text: nothingOf(where)}, nil
	case !yes:
		return Answer{Text: c.sayf("This deletes %s of yours %s for good: the text, its attachments, quotes of it, and the memories that came from you or are about you. "+
			"Summaries are rewritten without it. Within 24 hours it is gone from my files and their backups too. What others said stays, and so do my own answers, which may repeat you. "+
			"What you say from now on is saved as before; /optout keeps it out of my memories.\nSay %s to confirm.",
			c.translated(traces.String()), c.translated(where), again)}, nil
	}
	waiting, err := privacy.In(c.hub.o.Store).Erase(ctx, who.ID, in...)
	if err != nil {
		return Answer{}, err
	}
	var names []string
	for _, records := range in {
		names = append(names, records.Name())
	}
	end := c.hub.eraseAll(who.ID, names, waiting)
	return Answer{
		Text: "I am deleting it; you do not have to wait.", Forgets: true, Awaited: true,
		Then: func(ctx context.Context) string { return c.translated(end.words(ctx, where)) },
	}, nil
}

func nothingOf(where string) string { return fmt.Sprintf("I have nothing of yours %s.", where) }

// erasure is a running erasure. What it deleted is set before done is closed.
type erasure struct {
	done    chan struct{}
	deleted privacy.Holding
	err     error
}

// words waits for the end of an erasure and describes it.
func (e *erasure) words(ctx context.Context, where string) string {
	unfinished := "Not everything is deleted yet; I will continue on my own."
	select {
	case <-e.done:
	case <-ctx.Done():
		return unfinished
	}
	switch {
	case e.err != nil:
		return unfinished
	case e.deleted.Messages+e.deleted.Memories == 0:
		return nothingOf(where)
	}
	return fmt.Sprintf("Deleted: %s of yours %s. Summaries that contained it are rewritten from what others said. Within 24 hours it is gone from my files and their backups too. My own answers stay.",
		e.deleted, where)
}

// eraseAll deletes a person's traces from conversations, in the background and in small steps. The
// next start continues with what is left when the hub closes. waiting is how many messages are deleted
// already.
func (h *Hub) eraseAll(author string, names []string, waiting int) *erasure {
	e := &erasure{done: make(chan struct{}), deleted: privacy.Holding{Messages: waiting}}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		e.err = ErrClosed
		close(e.done)
		return e
	}
	h.owners.Go(func() {
		defer close(e.done)
		for _, name := range names {
			if err := h.erase(author, name, e); err != nil {
				e.err = errors.Join(e.err, err)
				if h.ctx.Err() == nil {
					h.o.Log.Warn("delete_messages_failed", "effect", "the next start continues", "conversation", name, "error", err)
				}
			}
		}
	})
	return e
}

// eraseRest is the time between two steps in which others may write.
const eraseRest = 5 * time.Millisecond

func (h *Hub) erase(author, name string, e *erasure) error {
	records, err := h.o.Store.Find(h.ctx, name)
	if err != nil {
		return err
	}
	defer h.threadsChanged(name)
	for h.ctx.Err() == nil {
		some, err := privacy.Of(records).EraseSome(h.ctx, author)
		if err != nil {
			return err
		}
		e.deleted.Messages += some.Messages
		e.deleted.Memories += some.Memories
		if len(some.Seqs) > 0 {
			h.post(name, func(c *conversation) { c.deleted(some.Seqs) })
		}
		if some.Done {
			return nil
		}
		select {
		case <-time.After(eraseRest):
		case <-h.ctx.Done():
		}
	}
	return h.ctx.Err()
}

// resumeErasures resumes the erasures that an earlier process left unfinished.
func (h *Hub) resumeErasures(ctx context.Context, match func(conversation string) bool) error {
	due, err := privacy.In(h.o.Store).Erasures(ctx)
	if err != nil {
		return err
	}
	for _, one := range due {
		if _, known := h.connectors[connectorOf(one.Conversation)]; known && match(one.Conversation) {
			h.eraseAll(one.Author, []string{one.Conversation}, 0)
		}
	}
	return nil
}

// runOptOut keeps the person who asks out of memories, here and everywhere their connector reaches.
func runOptOut(ctx context.Context, c *conversation, who Person, args string) (Answer, error) {
	off := strings.EqualFold(args, "off")
	switch {
	case args != "" && !off:
		return Answer{}, errPeople(c.sayf("Use /optout or /optout off."))
	case who.ID == "":
		return Answer{}, errPeople("I cannot tell who you are here, so I cannot tell what is yours.")
	}
	if _, err := privacy.Of(c.records).OptOut(ctx, who.ID, who.Name, !off); err != nil {
		return Answer{}, err
	}
	if off {
		return Answer{Text: "From now on, what you say may become a memory again."}, nil
	}
	traces, err := privacy.Of(c.records).Traces(ctx, who.ID)
	if err != nil {
		return Answer{}, err
	}
	kept := ""
	if traces.Memories > 0 {
		kept = c.sayf(" What I remember of you here (%s) stays until /forget me.", c.translated(chat.Counted(traces.Memories, "memory", "memories")))
	}
	return Answer{Text: c.sayf("From now on nothing you say becomes a memory, and no memory about you is kept, in any conversation.") + kept + c.sayf(" The conversation itself is saved as before, and its summaries still contain what you said. /optout off reverts this.")}, nil
}
