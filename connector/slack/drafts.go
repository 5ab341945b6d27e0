// The drafts of one reply: what is shown of it before it is sent, by this process or an earlier one.

package slack

import (
	"context"
)

// next returns the draft of the next piece to send; its ts is empty if there is none.
func (w *writer) next() *draft {
	if len(w.full) > 0 {
		return &w.full[0]
	}
	return &w.draft
}

// shift forgets the next draft, which is sent or deleted.
func (w *writer) shift() {
	if len(w.full) > 0 {
		w.full = w.full[1:]
	} else {
		w.draft = draft{}
	}
}

// deleteDraft deletes the next draft. It returns false if Slack does not allow that.
func (w *writer) deleteDraft(ctx context.Context) (deleted bool) {
	d := w.next()
	if d.streaming || d.unsure { // one of an earlier process may be a stream
		_ = d.stopStream(ctx, w) // an unfinished stream cannot be deleted
	}
	deleted = d.ts == "" || w.poster.remove(ctx, w.place.Channel, d.ts)
	w.shift()
	return deleted
}

// deleteDrafts deletes all that are left.
func (w *writer) deleteDrafts(ctx context.Context) {
	for w.next().ts != "" {
		w.deleteDraft(ctx)
	}
	w.draft = draft{}
}

// adopt takes over the unfinished drafts that an earlier process left for the same message: one after another, and a stream that was not
// ended, which has no mark.
func (w *writer) adopt(ctx context.Context, sent []message) {
	var all []draft
	open := false
	for _, o := range sent {
		m := o.Metadata.Mark
		unfinished := o.marked() && m.Reply == "" && m.Answers == w.answers
		unmarked := !open && o.Metadata.Type == "" && w.place.Thread != "" && isTS(w.answers) && !w.isSent(ctx, o.TS)
		if (unfinished || unmarked) && w.recent.claim(w.place.Channel, o.TS, w.answers) {
			open = open || unmarked
			all = append(all, draft{ts: o.TS, unsure: true})
		}
	}
	if n := len(all); n > 0 {
		w.full = all[:n-1]
		w.draft = all[n-1]
	}
}

// isSent reports whether the hub knows a message as sent; a stream that a person has stopped stays without a mark.
func (w *writer) isSent(ctx context.Context, ts string) bool {
	_, sent, err := w.base.Hub.SentAs(ctx, w.conversation.String(), ts)
	if err == nil && !sent {
		_, sent, err = w.base.Hub.SentAs(ctx, w.place.String(), ts)
	}
	if err == nil && !sent {
		_, sent, err = w.base.Hub.SentAs(ctx, above(w.place), ts)
	}
	return sent || err != nil
}

// adoptUnsent takes over the drafts of an earlier process, if this answer has none, but nothing that the hub knows to be sent.
func (w *writer) adoptUnsent(ctx context.Context) error {
	if err := w.base.Work.Wait(ctx); err != nil {
		return err
	}
	w.locate(ctx)
	if w.next().ts != "" || !w.mayHaveStarted() {
		return nil
	}
	sent, err := w.findSent(ctx, false)
	if err != nil {
		return err
	}
	var unsent []message
	for _, m := range sent {
		if timeOf(m.TS).Before(w.since()) && !w.isSent(ctx, m.TS) {
			unsent = append(unsent, m)
		}
	}
	w.adopt(ctx, unsent)
	return nil
}
