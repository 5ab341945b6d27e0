package channel

import (
	"context"
	"errors"
	"time"

	"cairn/compactor"
	"cairn/privacy"
	"cairn/store"
)

// How the data of a person is deleted while conversations are in memory.

// forgetPerson erases a person from conversations, and what their loops hold in memory. The messages are deleted in the
// background; done receives the result of that.
func (h *Hub) forgetPerson(ctx context.Context, who store.Person, in ...*store.Conversation) (done <-chan error, err error) {
	if _, err := privacy.In(h.o.Store).Erase(ctx, who, in...); err != nil {
		return nil, err
	}
	for _, records := range in {
		h.rereadSettings(records)
		h.post(records.Name(), func(c *conversation) {
			if c.engine != nil {
				compactor.ForgetFocus(c.engine)
			}
		})
		h.settle(ctx, records.Name())
	}
	// A compaction that began meanwhile may have stored their focus once more.
	if err := privacy.In(h.o.Store).EraseTyped(ctx, who, in...); err != nil {
		return nil, err
	}
	return h.eraseAll(who.ID, in...), nil
}

// settle waits until an open conversation's loop has handled what was posted to it, and no row with an earlier focus is being
// written.
func (h *Hub) settle(ctx context.Context, name string) {
	if c, _ := h.find(name, nil); c != nil {
		// An error means that the loop has ended, or that nobody waits.
		_ = c.until(ctx, func() (bool, error) { return c.engine == nil || !compactor.Restarts(c.engine), nil })
		h.release(c)
	}
}

// eraseAll deletes a person's traces from conversations, in the background and in small steps. The next start continues
// with what is left when the hub closes. The result is sent when it has ended.
func (h *Hub) eraseAll(author string, in ...*store.Conversation) <-chan error {
	end := make(chan error, 1)
	started := h.goroutines.start(func() {
		var failed error
		for _, records := range in {
			err := h.erase(author, records)
			failed = errors.Join(failed, err)
			if err != nil && h.life.Err() == nil {
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
	for h.life.Err() == nil {
		some, err := privacy.Of(records).EraseSome(h.life, author)
		if err != nil {
			return err
		}
		if some.Done {
			return nil
		}
		time.Sleep(5 * time.Millisecond) // others may write
	}
	return h.life.Err()
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
