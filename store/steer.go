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

// steered returns the messages of a running turn with those of people as they wait now, and the ids of those that were deleted, of which
// only the bare places are left.
func (in Inbox) steered(tx *Tx, running []chat.Message) (now []chat.Message, deleted []string) {
	if !slices.ContainsFunc(running, isSteered) { // as in most
		return running, nil
	}
	for _, m := range running {
		if !isSteered(m) {
			now = append(now, m)
			continue
		}
		waiting := in.waiting(tx, "AND platform_id = ?", m.ID)
		if len(waiting) > 0 {
			now = append(now, in.placed(tx, waiting[0], m))
			continue
		}
		now = append(now, chat.Message{Seq: m.Seq, Turn: m.Turn, Role: m.Role, ID: m.ID, Time: m.Time})
		deleted = append(deleted, m.ID)
	}
	return now, deleted
}

// without returns the messages of a running turn without the places of deleted ones.
func without(running []chat.Message, deleted []string) []chat.Message {
	return slices.DeleteFunc(running, func(m chat.Message) bool { return isSteered(m) && slices.Contains(deleted, m.ID) })
}

// tombstones returns the messages of an answer with those places of deleted ones that no other message has, nor may get.
func tombstones(answer []chat.Message, deleted []string) (kept []chat.Message) {
	for _, m := range slices.Backward(answer) {
		n := len(kept)
		if !isSteered(m) || !slices.Contains(deleted, m.ID) || n > 0 && m.Seq < kept[n-1].Seq {
			kept = append(kept, m)
		}
	}
	slices.Reverse(kept)
	return kept
}

// bury makes tombstones of the deleted messages of an answer.
func (ms Messages) bury(answer []chat.Message, deleted []string) {
	for _, m := range answer {
		if isSteered(m) && slices.Contains(deleted, m.ID) {
			ms.tx.do("UPDATE messages SET deleted_at = ?, tokens = 0 WHERE id = ?", nowMillis(), ms.c.rowID(m.Seq))
		}
	}
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

// isElsewhere reports whether a message that may be for the answer of a channel's conversation is in that or another one of the channel
// already; else it is in this one from now on. The first transaction decides, whatever the processes have seen of the answer.
func (in Inbox) isElsewhere(tx *Tx, m Inbound) bool {
	if m.Above == "" || !exists(tx, "SELECT 1 FROM conversations WHERE name = ?", m.Above) {
		return false
	}
	return !tx.changed(`INSERT INTO gone (conversation, platform_id) SELECT id, 'placed-' || CAST(?2 AS TEXT) FROM conversations WHERE name = ?1
		ON CONFLICT DO NOTHING`, m.Above, m.ID)
}

// changed notes that a waiting message was edited or deleted: the prompt of a running turn may show it.
func (in Inbox) changed(tx *Tx, steers bool) {
	if steers {
		in.c.NextVersion(tx)
	}
}
