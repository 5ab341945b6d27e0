// Messages for the answer that is being written. They wait in the inbox like others, and get their places in its turn when that ends.

package store

import (
	"context"
	"slices"

	"cairn/chat"
	"cairn/llm"
)

// Steering returns the waiting messages that are for the running turn, in order, without seqs: not those that are incomplete, nor those
// from after a requested session. What Turns.Finish gets of them is in the transcript; the others go on waiting.
func (in Inbox) Steering(ctx context.Context) ([]chat.Message, error) {
	return View(ctx, in.c, "look for messages for the running turn", func(tx *Tx) (all []chat.Message) {
		waiting := in.waiting(tx, `AND steers = 1 AND addressed = 1 AND incomplete = 0
			AND id <= coalesce((SELECT min(after) FROM wanted_sessions WHERE conversation = ?1), id) ORDER BY id`)
		for _, m := range waiting {
			all = append(all, in.placed(tx, m, chat.Message{}))
		}
		return all
	})
}

// placed returns a waiting message in the place of another one.
func (in Inbox) placed(tx *Tx, m Inbound, at chat.Message) chat.Message {
	is := m.message()
	is.Seq = at.Seq
	is.Turn = at.Turn
	is.Optional = false
	Transcript(in).resolve(tx, &is, nil)
	return is
}

// steered returns the messages of a running turn with those of people as they wait now. deleted: there were others.
func (in Inbox) steered(tx *Tx, running []chat.Message) (now []chat.Message, deleted bool) {
	if !slices.ContainsFunc(running, isSteered) { // as in most
		return running, false
	}
	for _, m := range running {
		if !isSteered(m) {
			now = append(now, m)
			continue
		}
		waiting := in.waiting(tx, "AND platform_id = ?", m.ID)
		if len(waiting) == 0 {
			deleted = true
			continue
		}
		now = append(now, in.placed(tx, waiting[0], m))
	}
	return now, deleted
}

// isSteered reports whether a message of an answer is a person's.
func isSteered(m chat.Message) bool { return m.Role == llm.RoleUser && m.ID != "" }

// leave removes the messages of people in an answer from the inbox: the transcript has them.
func (in Inbox) leave(tx *Tx, answer []chat.Message) {
	for _, m := range answer {
		if isSteered(m) {
			tx.do("DELETE FROM inbox WHERE conversation = ? AND platform_id = ?", in.c.id, m.ID)
			in.c.store.arrivals.Delete(waitingMessage{in.c.id, m.ID}) // as in Delete
		}
	}
}

// changed notes that a waiting message was edited or deleted: the prompt of a running turn may show it.
func (in Inbox) changed(tx *Tx, steers bool) {
	if steers {
		in.c.NextVersion(tx)
	}
}
