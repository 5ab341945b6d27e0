// Edits of messages by people.

package store

import (
	"context"
	"slices"

	"cairn/chat"
	"cairn/transcript"
)

// Edit replaces text and attachments of a message by those of m; m.Time is the time of the edit. A
// waiting message also gets m's Incomplete. It returns the message's seq, 0 if it is waiting, and
// whether the message has changed: not if the content is the same, if a later edit is known, or if
// the message is unknown. also, if not nil, is called in the transaction that changes a message of
// the transcript.
func (tr Transcript) Edit(ctx context.Context, m Inbound, also func(tx *Tx, was, is chat.Message)) (seq int64, changed bool, err error) {
	m, err = clean(m)
	if err == nil {
		err = tr.c.store.Update(ctx, func(tx *Tx) error {
			if changed = tr.c.editWaiting(tx, m); !changed {
				seq, changed = tr.c.editTakenUp(tx, m, also)
			}
			if changed { // the files still have the old text; platforms also report edits that change nothing
				noteErasure(tx)
			}
			return nil
		})
	}
	return seq, changed, tr.c.Fail("edit message "+m.ID, err)
}

func (c *Conversation) editWaiting(tx *Tx, m Inbound) (edited bool) {
	was := c.In(tx).Waiting("AND platform_id = ? AND coalesce(edited_at, 0) <= ?", m.ID, m.Time.UnixMilli())
	if len(was) == 0 {
		return false
	}
	attachments := carryOver(was[0].Attachments, m.Attachments)
	edited = !sameContent(was[0].Text, m.Text, was[0].Attachments, attachments)
	incomplete := was[0].Incomplete
	if edited {
		incomplete = m.Incomplete
	}
	stored := c.keepFiles(tx, m.ID, attachments)
	tx.Do("UPDATE inbox SET text = ?, attachments = ?, incomplete = ?, edited_at = ?, tries = iif(?, 0, tries) WHERE conversation = ? AND platform_id = ?",
		m.Text, stored, incomplete, m.Time.UnixMilli(), edited, c.id, m.ID)
	return edited
}

func (c *Conversation) editTakenUp(tx *Tx, m Inbound, also func(tx *Tx, was, is chat.Message)) (seq int64, edited bool) {
	seq = Get[int64](tx, `UPDATE messages SET edited_at = ?3 WHERE conversation = ?1 AND platform_id = ?2 AND role = 'user'
		AND deleted_at IS NULL AND coalesce(edited_at, 0) <= ?3 RETURNING seq`, c.id, m.ID, m.Time.UnixMilli())
	if seq == 0 {
		return 0, false
	}
	was := c.In(tx).message(seq)
	is := was
	is.Text, is.Attachments = m.Text, carryOver(was.Attachments, m.Attachments)
	if sameContent(was.Text, is.Text, was.Attachments, is.Attachments) {
		return seq, false
	}
	version := c.In(tx).NextVersion()
	c.In(tx).Rewrite(was, is, version)
	c.In(tx).Revise([]int64{seq}, nil, version, transcript.Summary.Edited)
	if also != nil {
		also(tx, was, is)
	}
	return seq, true
}

// NextVersion increments the version of the conversation and returns it.
func (rs Rows) NextVersion() int64 {
	return Get[int64](rs.tx, "UPDATE conversations SET version = version + 1 WHERE id = ? RETURNING version", rs.c.id)
}

// Rewrite gives a message a new text, attachments and quote, and reindexes it.
func (rs Rows) Rewrite(was, is chat.Message, version int64) {
	attachments := rs.c.keepFiles(rs.tx, is.ID, is.Attachments)
	rs.Unindex(was)
	rs.tx.Do("UPDATE messages SET text = ?, attachments = ?, quote = ?, tokens = ?, changed_with = ? WHERE id = ?",
		is.Text, attachments, is.Quote, chat.TokensOf(is), version, rs.c.Row(is.Seq))
	rs.index(is)
}

// Unindex removes a message from the search index.
func (rs Rows) Unindex(m chat.Message) {
	counts, _ := indexed(m)
	for term := range counts {
		rs.tx.Do("DELETE FROM message_terms WHERE conversation = ? AND term = ? AND seq = ?", rs.c.id, term, m.Seq)
	}
}

// carryOver returns the attachments after an edit, with those that were already in the message
// unchanged, so that fixing a typo does not lose a picture, and a newly signed address does not
// count as a change.
func carryOver(before, after []chat.Attachment) []chat.Attachment {
	before = slices.Clone(before)
	var kept []chat.Attachment
	for _, a := range after {
		i := slices.IndexFunc(before, func(b chat.Attachment) bool { return a.Kind == b.Kind && a.Name == b.Name && a.Size == b.Size })
		if i >= 0 && a.File == 0 && a.Text == "" && len(a.Data) == 0 {
			was := before[i]
			before = slices.Delete(before, i, i+1)
			if a.Caption != "" {
				was.Caption = a.Caption
			}
			a = was
		}
		kept = append(kept, a)
	}
	return kept
}
