// Edits of messages by people, and what a connector finds out about incomplete ones; their files.

package store

import (
	"context"
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/transcript"
)

// Edit replaces text and attachments of a message by those of m; m.Time is the time of the edit. A waiting message also gets
// m's Incomplete. It returns the message's seq, 0 if it is waiting, and whether the message has changed: not if the
// content is the same, if a later edit is known, or if the message is unknown. A waiting message that m addresses to the bot is
// addressed from then on. also, if not nil, is called in the
// transaction that changes a message of the transcript.
func (tr Transcript) Edit(ctx context.Context, m Inbound, also func(tx *Tx, was, is chat.Message)) (seq int64, changed bool, err error) {
	m = clean(m)
	err = tr.c.Update(ctx, "edit message "+m.ID, func(tx *Tx) {
		if m.ID == "" {
			tx.Fail(errNoID)
		}
		changed = Inbox(tr).edit(tx, m)
		if !changed {
			seq, changed = tr.edit(tx, m, also)
		}
		if changed { // the files still have the old text; platforms also report edits that change nothing
			noteErasure(tx)
		}
	})
	return seq, changed, err
}

// edit is Transcript.Edit for a message that waits.
func (in Inbox) edit(tx *Tx, m Inbound) (edited bool) {
	was := in.waiting(tx, "AND platform_id = ? AND coalesce(edited_at, 0) <= ?", m.ID, m.Time.UnixMilli())
	if len(was) == 0 {
		return false
	}
	attachments := carryOver(was[0].Attachments, m.Attachments)
	asks := m.Addressed && (!was[0].Addressed || was[0].Optional)
	edited = asks || !sameContent(was[0].Text, m.Text, was[0].Attachments, attachments)
	tx.do(`UPDATE inbox SET text = ?, attachments = ?, edited_at = ?, incomplete = CASE WHEN ?4 THEN ?5 ELSE incomplete END, tries = CASE WHEN ?4 THEN 0 ELSE tries END
		WHERE conversation = ? AND platform_id = ?`, m.Text, in.c.Messages(tx).keepFiles(m.ID, attachments), m.Time.UnixMilli(), edited, m.Incomplete, in.c.id, m.ID)
	if asks {
		in.deliver(tx, m)
	}
	in.changed(tx, edited && was[0].Steers)
	return edited
}

// AskByEdit makes a question of a message that m, an edit of it, addresses to the bot: the message leaves its place, by remove, and
// is delivered as if it had been sent now. asked is false, and nothing has changed, if the message waits, if it was addressed to
// the bot before and it did not choose to stay silent, if it was deleted, or if a later edit is known. An unknown one is new.
func (tr Transcript) AskByEdit(ctx context.Context, m Inbound, remove func(tx *Tx)) (moved bool, err error) {
	m = clean(m)
	err = tr.c.Update(ctx, "ask with edited message "+m.ID, func(tx *Tx) {
		moved = tr.unasked(tx, m)
		if !moved {
			return
		}
		remove(tx)
		tx.do("UPDATE messages SET platform_id = 'moved-' || seq WHERE conversation = ? AND platform_id = ? AND role = 'user'", tr.c.id, m.ID)
		Inbox(tr).deliver(tx, m)
		tx.do("UPDATE inbox SET edited_at = ? WHERE conversation = ? AND platform_id = ?", m.Time.UnixMilli(), tr.c.id, m.ID)
		noteErasure(tx)
	})
	return moved, err
}

// unasked reports whether AskByEdit makes a question of m.
func (tr Transcript) unasked(tx *Tx, m Inbound) bool {
	is := Inbox(tr).delivery(tx, m.ID)
	if is.waits || !is.left {
		return !is.waits
	}
	return exists(tx, `SELECT 1 FROM messages m WHERE conversation = ?1 AND platform_id = ?2 AND role = 'user'
		AND deleted_at IS NULL AND coalesce(edited_at, 0) <= ?3
		AND (addressed = 0 OR optional = 1 AND EXISTS (SELECT 1 FROM messages WHERE id = CAST(?1 AS BIGINT) << 32 | m.turn AND answered = ?4))`,
		tr.c.id, m.ID, m.Time.UnixMilli(), closed)
}

// edit is Edit for a message of the transcript.
func (tr Transcript) edit(tx *Tx, m Inbound, also func(tx *Tx, was, is chat.Message)) (seq int64, edited bool) {
	seq = getValue[int64](tx, `UPDATE messages SET edited_at = ?3 WHERE conversation = ?1 AND platform_id = ?2 AND role = 'user'
		AND deleted_at IS NULL AND coalesce(edited_at, 0) <= ?3 RETURNING seq`, tr.c.id, m.ID, m.Time.UnixMilli())
	if seq == 0 {
		return 0, false
	}
	was := tr.c.Messages(tx).message(seq)
	is := was
	is.Text, is.Attachments = m.Text, carryOver(was.Attachments, m.Attachments)
	if sameContent(was.Text, is.Text, was.Attachments, is.Attachments) {
		return seq, false
	}
	version := tr.c.NextVersion(tx)
	tr.c.Messages(tx).Rewrite(was, is, version)
	tr.c.Summaries(tx).Revise([]int64{seq}, nil, version, transcript.Summary.Edited)
	if also != nil {
		also(tx, was, is)
	}
	return seq, true
}

// NextVersion increments the version of the conversation and returns it: whatever is changed of its prompt is changed with a
// new version, and Watch reports that.
func (c handle) NextVersion(tx *Tx) int64 {
	c.store.engine.enter(tx, c, outdated) // a thread may be another process's
	tx.raised = append(tx.raised, c.name)
	c.Messages(tx).dropContexts()
	return getValue[int64](tx, "UPDATE conversations SET version = version + 1 WHERE id = ? RETURNING version", c.id)
}

// Rewrite gives a message a new text, attachments and quote, and reindexes it.
func (ms Messages) Rewrite(was, is chat.Message, version int64) {
	attachments := ms.keepFiles(is.ID, is.Attachments)
	ms.unindex(was)
	ms.tx.do("UPDATE messages SET text = ?, attachments = ?, quote = ?, tokens = ?, changed_with = ? WHERE id = ?",
		is.Text, attachments, is.Quote, chat.TokensOf(is), version, ms.c.rowID(is.Seq))
	ms.dropVectors(is.Seq)
	ms.index(is)
}

// carryOver returns the attachments after an edit, with those that were already in the message unchanged, so that fixing a typo
// does not lose a picture, and a newly signed address is no change.
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

// File returns a stored picture of the conversation, and its media type, or ErrNotFound.
func (tr Transcript) File(ctx context.Context, id int64) (mediaType string, data []byte, err error) {
	err = tr.c.View(ctx, fmt.Sprintf("read file %d", id), func(tx *Tx) {
		tx.row("SELECT type, data FROM files WHERE id = ? AND conversation = ?", id, tr.c.id).Scan(&mediaType, &data)
	})
	return mediaType, data, err
}

// storeFiles stores the data of a message's attachments, and returns them without it. It deletes the message's other files.
func (ms Messages) storeFiles(message string, attachments []chat.Attachment) []chat.Attachment {
	attachments = slices.Clone(attachments)
	kept := []int64{}
	for i := range attachments {
		a := &attachments[i]
		if len(a.Data) > 0 {
			*a = storeFile(ms.tx, ms.c.id, message, *a)
		}
		kept = append(kept, a.File)
	}
	ms.tx.do("DELETE FROM files WHERE conversation = ? AND platform_id = ? AND id NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?))", ms.c.id, message, encode(kept))
	return attachments
}

// storeFile stores the data of an attachment, and returns it without it.
func storeFile(tx *Tx, conversation int64, message string, a chat.Attachment) chat.Attachment {
	a.File = getValue[int64](tx, "INSERT INTO files (conversation, platform_id, type, data) VALUES (?, ?, ?, ?) RETURNING id", conversation, message, a.Type, a.Data)
	if a.Size == 0 {
		a.Size = int64(len(a.Data))
	}
	a.Data = nil
	return a
}

func (ms Messages) keepFiles(message string, attachments []chat.Attachment) string {
	return toJSON(ms.storeFiles(message, attachments))
}

// Incomplete returns the oldest waiting messages that the connector can complete, in order, at most 50.
func (in Inbox) Incomplete(ctx context.Context) ([]Inbound, error) {
	return View(ctx, in.c, "look for incomplete messages", func(tx *Tx) []Inbound {
		return in.waiting(tx, "AND incomplete = 1 ORDER BY id LIMIT 50")
	})
}

// Try records on disk that the connector is about to complete waiting messages: if that kills the
// process, the next start sees their Tries. An edit resets them.
func (in Inbox) Try(ctx context.Context, all []Inbound) error {
	return in.c.Update(ctx, "note that messages are completed", func(tx *Tx) {
		for _, m := range all {
			tx.do("UPDATE inbox SET tries = tries + 1 WHERE conversation = ? AND platform_id = ?", in.c.id, m.ID)
		}
	})
}

// TryPast is Try for messages from before the bot joined. It returns the number of earlier attempts.
func (in Inbox) TryPast(ctx context.Context) (int, error) {
	return Update(ctx, in.c, "note that the past is completed", func(tx *Tx) int {
		return getValue[int](tx, "UPDATE conversations SET past_tries = past_tries + 1 WHERE id = ? RETURNING past_tries - 1", in.c.id)
	})
}

// Complete replaces author, text, attachments and quote of a waiting message by those of m, marks it complete, and stores the
// label that m has, if any. was is the message as returned by Incomplete: if it was edited or deleted since, nothing
// changes.
func (in Inbox) Complete(ctx context.Context, was, m Inbound) error {
	m.ID = was.ID
	m = clean(m)
	return in.c.Update(ctx, "complete message "+was.ID, func(tx *Tx) {
		now := in.waiting(tx, "AND incomplete = 1 AND platform_id = ?", was.ID)
		if len(now) == 0 || !sameContent(now[0].Text, was.Text, now[0].Attachments, was.Attachments) {
			return
		}
		if now[0].Quote != was.Quote {
			m.Quote = now[0].Quote // the quoted text may have been deleted since
		}
		attachments := in.c.Messages(tx).keepFiles(was.ID, m.Attachments)
		relabel(tx, in.c.id, m.Label)
		tx.do(`UPDATE inbox SET author = ?, text = ?, attachments = ?, quote = ?, incomplete = 0
			WHERE conversation = ? AND platform_id = ?`, m.Author, m.Text, attachments, m.Quote, in.c.id, was.ID)
	})
}

func sameContent(text1, text2 string, attachments1, attachments2 []chat.Attachment) bool {
	return text1 == text2 && toJSON(attachments1) == toJSON(attachments2)
}
