package channel

import (
	"context"
	"errors"
	"time"

	"cairn/compactor"
	"cairn/privacy"
	"cairn/store"
)

// erasure deletes the data of a person from conversations, which may be in memory.
type erasure struct {
	hub *Hub
	who store.Person
	in  []*store.Conversation
}

// ErasePerson deletes the data of a person from conversations, also from those in memory, and waits for that. If it ends early, the
// deletion goes on in the background, and after the next start.
func ErasePerson(ctx context.Context, h *Hub, who store.Person, in []*store.Conversation) error {
	done, err := erasure{h, who, in}.begin(ctx)
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// PurgeConversation deletes everything of a conversation, which may be in memory. Its running turn ends.
func PurgeConversation(ctx context.Context, h *Hub, records *store.Conversation) error {
	if err := privacy.Of(records).Purge(ctx); err != nil {
		return err
	}
	h.rereadSettings(records)
	erasure{hub: h}.forgetFocus(ctx, records.Name())
	return nil
}

// begin erases the person from the conversations, and from what their loops hold in memory. The messages are deleted in the
// background; done receives the result of that.
func (e erasure) begin(ctx context.Context) (done <-chan error, err error) {
	if _, err := privacy.In(e.hub.o.Store).Erase(ctx, e.who, e.in...); err != nil {
		return nil, err
	}
	for _, records := range e.in {
		e.hub.rereadSettings(records)
		e.forgetFocus(ctx, records.Name())
	}
	// A compaction that began meanwhile may have stored their focus once more.
	if err := privacy.In(e.hub.o.Store).EraseTyped(ctx, e.who, e.in...); err != nil {
		return nil, err
	}
	return e.messages(), nil
}

// forgetFocus has an open conversation forget what its summaries were to focus on. It returns when the loop has handled all that was
// posted to it, and no row with an earlier focus is being written.
func (e erasure) forgetFocus(ctx context.Context, name string) {
	c, _ := e.hub.find(name, nil)
	if c == nil {
		return
	}
	defer e.hub.release(c)
	forget := func() {
		if c.engine != nil {
			compactor.ForgetFocus(c.engine)
		}
	}
	// An error means that the loop has ended, or that nobody waits.
	_ = c.await(ctx, forget, func() (bool, error) { return c.engine == nil || !compactor.Restarts(c.engine), nil })
}

// messages deletes the person's messages in the background, in small steps. The next start continues with what is left when the hub
// closes. The result is sent when it has ended.
func (e erasure) messages() <-chan error {
	end := make(chan error, 1)
	started := e.hub.goroutines.start(func() {
		var failed error
		for _, records := range e.in {
			err := e.messagesIn(records)
			failed = errors.Join(failed, err)
			if err != nil && e.hub.life.Err() == nil {
				e.hub.o.Log.Warn("delete_messages_failed", "effect", "the next start continues", "conversation", records.Name(), "error", err)
			}
		}
		end <- failed
	})
	if !started {
		end <- ErrClosed
	}
	return end
}

func (e erasure) messagesIn(records *store.Conversation) error {
	life := e.hub.life
	for life.Err() == nil {
		some, err := privacy.Of(records).EraseSome(life, e.who.ID)
		if err != nil {
			return err
		}
		if some.Messages+some.Memories > 0 {
			e.hub.forgotten(records.Name(), some.Deleted)
		}
		if some.Done {
			return nil
		}
		time.Sleep(5 * time.Millisecond) // others may write
	}
	return life.Err()
}

// resumeErasures resumes the erasures that an earlier process left unfinished.
func (h *Hub) resumeErasures(ctx context.Context, match func(conversation string) bool) error {
	due, err := privacy.In(h.o.Store).Erasures(ctx)
	for _, one := range due {
		if _, known := h.connectors[connectorOf(one.Conversation)]; !known || !match(one.Conversation) || h.fleet.answersElsewhere(one.Conversation) {
			continue
		}
		records, failed := h.o.Store.Find(ctx, one.Conversation)
		if failed == nil {
			erasure{h, store.Person{ID: one.Author}, []*store.Conversation{records}}.messages()
		}
		err = errors.Join(err, failed)
	}
	return err
}
