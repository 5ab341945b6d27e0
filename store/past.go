// The past: messages from before the bot came, and those it may have missed while it was disconnected.

package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"cairn/chat"
)

// Gap is a conversation that may have missed messages: those after the one with the platform ID
// After.
type Gap struct {
	Conversation string
	After        string
}

// Away records that every conversation of a connector for which of is true, or every one if it is nil, may miss messages after the
// newest delivered one, and returns those of them that have a gap. A gap that is already open keeps its start, and is read to its
// new end.
//
// For connectors that may deliver messages without the ones before them, earlier returns a place before the newest message,
// after which messages may be missing, given also the first known message; nil: messages are delivered in order.
func (s *Store) Away(ctx context.Context, connector string, of func(conversation string) bool, earlier func(newest, first string) string) (gaps []Gap, err error) {
	err = s.Update(ctx, func(tx *Tx) {
		for _, c := range tx.conversationsOf(connector, of) {
			after := outermost(tx, c.id, "DESC")
			if after != "" && earlier != nil {
				after = earlier(after, outermost(tx, c.id, "ASC"))
			}
			after = getValue[string](tx, "UPDATE conversations SET gap_again = CASE WHEN gap IS NULL THEN 0 ELSE 1 END, gap = coalesce(gap, ?) WHERE id = ? RETURNING gap", after, c.id)
			gaps = append(gaps, Gap{c.name, after})
		}
	})
	return gaps, Fail("note that "+connector+" was away", err)
}

// conversationsOf returns the conversations of a connector for which of is true, or all of them if it is nil.
func (t *Tx) conversationsOf(connector string, of func(conversation string) bool) []*Conversation {
	all := t.conversations("WHERE name >= ? AND name < ? ORDER BY id", connector+":", connector+";") // ; comes right after :
	return slices.DeleteFunc(all, func(c *Conversation) bool { return of != nil && !of(c.name) })
}

// GapsToRecheck returns the conversations of a connector for which of is true, or all if it is nil, at most limit, for whose newest
// message and first one after returns where something may have been missed, and that, the newest first. "" leaves one out.
func GapsToRecheck(ctx context.Context, s *Store, connector string, of func(conversation string) bool, limit int, after func(newest, first string) string) (gaps []Gap, err error) {
	err = s.View(ctx, func(tx *Tx) {
		for _, c := range tx.conversationsOf(connector, of) {
			newest := outermost(tx, c.id, "DESC")
			if newest == "" {
				continue
			}
			if from := after(newest, outermost(tx, c.id, "ASC")); from != "" {
				gaps = append(gaps, Gap{c.name, from})
			}
		}
	})
	slices.SortFunc(gaps, func(a, b Gap) int { // ids of Discord and Slack increase
		return cmp.Or(cmp.Compare(len(b.After), len(a.After)), cmp.Compare(b.After, a.After))
	})
	gaps = gaps[:min(len(gaps), limit)]
	return gaps, Fail("find the active conversations of "+connector, err)
}

// platformKnows holds for ids that the platform itself counts up. Others belong to imported messages
// and to the results of tasks: a platform asked for what followed one of those refuses.
const platformKnows = "platform_id <> '' AND ltrim(platform_id, '0123456789.') = ''"

// outermost returns the platform id of the newest message, in the order DESC, or of the first, in the order ASC; "" if there is
// none. Those in the inbox are newer.
func outermost(tx *Tx, conversation int64, order string) (id string) {
	outer := " AND " + platformKnows + " ORDER BY id " + order + " LIMIT 1"
	return getValue[string](tx, `SELECT platform_id FROM (
		SELECT * FROM (SELECT 0 AS waits, platform_id FROM messages WHERE `+inConversation+` AND role = 'user'`+outer+`) said
		UNION ALL SELECT * FROM (SELECT 1, platform_id FROM inbox WHERE conversation = ?1`+outer+`) waiting) known ORDER BY waits `+order+` LIMIT 1`, conversation)
}

// Gap reports whether the conversation may have missed messages, and the platform id of the message before them; empty: nothing
// is known of the conversation.
func (h Past) Gap(ctx context.Context) (after string, open bool, err error) {
	err = h.c.row(ctx, "look for a gap", []any{&after, &open},
		"SELECT coalesce(gap, ''), gap IS NOT NULL FROM conversations WHERE id = ?", h.c.id)
	return after, open, err
}

// SetGap opens a gap after a message, unless an open gap starts there or earlier: ids of Discord and Slack increase. A page of
// an earlier gap may have been read and not stored yet, so that gap is read once more.
func (h Past) SetGap(ctx context.Context, after string) error {
	return h.c.enter(ctx, "open a gap", woken, func(tx *Tx) {
		tx.do(`UPDATE conversations SET gap_again = CASE WHEN coalesce(gap, '') <> '' AND (length(gap), gap) < (length(?1), ?1) THEN 1 ELSE gap_again END,
			gap = CASE WHEN coalesce(gap, '') = '' OR (length(?1), ?1) < (length(gap), gap) THEN ?1 ELSE gap END WHERE id = ?2`, after, h.c.id)
	})
}

// CloseGap records that nothing was missed after a message, or that it cannot be read. A gap that
// starts elsewhere stays open: it was opened in the meantime.
func (h Past) CloseGap(ctx context.Context, after string) error {
	return h.c.set(ctx, "close the gap", "UPDATE conversations SET gap = NULL, gap_again = 0 WHERE id = ? AND gap = ?", h.c.id, after)
}

// FillGap delivers a page of missed messages, and sorts the inbox by when messages were sent. last is the platform id from
// which to continue; empty: the gap is unchanged. If done is true the gap is closed, unless the bot was disconnected again
// since: then it continues from last. FillGap returns how many messages were new. It leaves out what people said before they
// asked to be forgotten.
func (h Past) FillGap(ctx context.Context, messages []Inbound, last string, done bool) (int, error) {
	return Update(ctx, h.c, "fill the gap", func(tx *Tx) (fresh int) {
		fresh = h.deliver(tx, messages)
		tx.do(`UPDATE conversations SET gap = CASE WHEN ?1 AND gap_again = 0 THEN NULL ELSE ?2 END, gap_again = CASE WHEN ?1 THEN 0 ELSE gap_again END
			WHERE id = ?3 AND gap IS NOT NULL AND ?2 <> ''`, done, last, h.c.id)
		return fresh
	})
}

// deliver delivers messages of the past, and returns how many were new.
func (h Past) deliver(tx *Tx, messages []Inbound) (fresh int) {
	for _, m := range messages {
		tx.do(`INSERT INTO gone (conversation, platform_id) SELECT conversation, ? FROM erasures
			WHERE conversation = ? AND author_id = ? AND asked_at >= ? ON CONFLICT DO NOTHING`, m.ID, h.c.id, m.AuthorID, m.Time.UnixMilli())
		m.uncounted = !m.Addressed
		receipt := Inbox(h).deliver(tx, m)
		if receipt.Fresh {
			fresh++
		}
	}
	Inbox(h).reorder(tx) // even if none is new, because platforms repeat messages in any order
	return fresh
}

// reorder assigns new ids to the rows of the inbox, in the order in which messages were sent; those
// with the same time are ordered by their platform ids, which increase on Discord and Slack.
func (in Inbox) reorder(tx *Tx) {
	// The rows move to negative ids first, because a new id may still be in use.
	tx.do(`UPDATE inbox SET id = -place.id
		FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM inbox WHERE conversation = ?1) AS place
		JOIN (SELECT id AS old, row_number() OVER (ORDER BY said_at, length(platform_id), platform_id) AS n
			FROM inbox WHERE conversation = ?1) AS wanted USING (n)
		WHERE inbox.id = old AND old <> place.id`, in.c.id)
	tx.do("UPDATE inbox SET id = -id WHERE id < 0")
	// Messages from before a requested session stay before it.
	tx.do(`UPDATE wanted_sessions SET after = coalesce((SELECT max(id) FROM inbox
		WHERE conversation = wanted_sessions.conversation AND said_at <= wanted_at), 0) WHERE conversation = ?`, in.c.id)
}

// Import appends messages of the past, which are not answered, in one transaction, and returns those that were new. ErrLive:
// people have talked to the bot here.
func (h Past) Import(ctx context.Context, past []Inbound) ([]chat.Message, error) {
	return Update(ctx, h.c, "import messages", func(tx *Tx) []chat.Message { return h.importAll(tx, past) })
}

// importAll is Import in a transaction.
func (h Past) importAll(tx *Tx, past []Inbound) []chat.Message {
	if getValue[bool](tx, `SELECT origin = 'live' OR EXISTS (SELECT 1 FROM inbox WHERE conversation = c.id)
		FROM conversations c WHERE id = ?`, h.c.id) {
		tx.Fail(ErrLive)
		return nil
	}
	added := h.write(tx, past)
	if len(added) > 0 {
		tx.do("UPDATE conversations SET origin = 'imported', read_back = 1 WHERE id = ?", h.c.id)
	}
	return added
}

// ImportUnread is Import for more messages than a compactor can take at once: they are stored and searchable, and Load returns
// them only once ReadTo has read them. It returns how many were new.
func (h Past) ImportUnread(ctx context.Context, past []Inbound) (fresh int, err error) {
	return Update(ctx, h.c, "import messages", func(tx *Tx) int {
		added := h.importAll(tx, past)
		if len(added) > 0 {
			tx.do("UPDATE conversations SET unread_from = ? WHERE id = ? AND unread_from = 0", added[0].Seq, h.c.id)
		}
		return len(added)
	})
}

// Unread returns how many messages of an import the compactor has not read yet; deleted ones count.
func (h Past) Unread(ctx context.Context) (n int, err error) {
	err = h.c.row(ctx, "look for unread messages", []any{&n},
		"SELECT CASE WHEN unread_from > 0 THEN next_seq - unread_from ELSE 0 END FROM conversations WHERE id = ?", h.c.id)
	return n, err
}

// ReadTo returns the messages between two seqs, as they are now, and marks those up to the second as read.
func (h Past) ReadTo(ctx context.Context, from, to int64) ([]chat.Message, error) {
	return Update(ctx, h.c, "read imported messages", func(tx *Tx) []chat.Message { return h.readTo(tx, from, to) })
}

// readTo is ReadTo in a transaction.
func (h Past) readTo(tx *Tx, from, to int64) []chat.Message {
	if getValue[bool](tx, "SELECT "+firstAddressed+" IS NOT NULL FROM conversations WHERE id = ?1 AND unread_from > 0", h.c.id) { // they come before what is shown
		h.c.NextVersion(tx)
	}
	tx.do("UPDATE conversations SET unread_from = CASE WHEN ?1 < next_seq THEN ?1 ELSE 0 END WHERE id = ?2 AND unread_from BETWEEN 1 AND ?1", to+1, h.c.id)
	return h.c.Messages(tx).read(from, to, "ORDER BY id")
}

// EndRead notes that all messages of an import are read, unless there are some from a seq on: then more were stored since.
func (h Past) EndRead(ctx context.Context, from int64) (more bool, err error) {
	return Update(ctx, h.c, "end the reading of imported messages", func(tx *Tx) bool {
		if len(h.c.Messages(tx).read(from, MaxSeq, "ORDER BY id LIMIT 1")) > 0 {
			return true
		}
		h.readTo(tx, MaxSeq, MaxSeq)
		return false
	})
}

// asked is SQL for the first message since an import began to be read that is addressed to the bot: such a message is
// answered immediately, and read later with the rest of the import. ?1 is the conversation.
const firstAddressed = `(SELECT seq FROM messages WHERE addressed = 1
	AND id BETWEEN CAST(?1 AS BIGINT) << 32 | unread_from AND CAST(?1 AS BIGINT) << 32 | 4294967295 ORDER BY id LIMIT 1)`

// readTo is SQL for the seq after the last message that the compactor has read, or that it shows before the rest of an import.
const readTo = "CASE WHEN unread_from > 0 AND " + firstAddressed + " IS NULL THEN unread_from ELSE next_seq END"

// readEnd returns the seq after the last message that the compactor has read, see readTo.
func readEnd(tx *Tx, conversation int64) int64 {
	return getValue[int64](tx, "SELECT "+readTo+" FROM conversations WHERE id = ?1", conversation)
}

// shown returns what a Snapshot shows of the messages: those up to read, and from beyond on to next, unless beyond is 0.
func promptRange(tx *Tx, conversation int64) (next, beyond, read int64) {
	var unread int64
	tx.row("SELECT "+readTo+", unread_from FROM conversations WHERE id = ?1", conversation).Scan(&next, &unread)
	if unread == 0 || next == unread {
		return next, 0, next - 1
	}
	beyond = getValue[int64](tx, "SELECT "+firstAddressed+" FROM conversations WHERE id = ?1", conversation)
	return next, beyond, unread - 1
}

// UnreadFrom returns the first message of an import that the compactor has not read; 0: it has read all.
func (h Past) UnreadFrom(ctx context.Context) (seq int64, err error) {
	err = h.c.row(ctx, "look for unread messages", []any{&seq}, "SELECT unread_from FROM conversations WHERE id = ?", h.c.id)
	return seq, err
}

// CheckIDs returns ErrOtherMessage if one of the messages has the id of a message here that somebody else wrote, or at another
// time, or in other words, unless people have edited or deleted that one.
func (h Past) CheckIDs(ctx context.Context, past []Inbound) error {
	var other error // for the operator, who need not know what was tried
	err := h.c.View(ctx, "look for known ids", func(tx *Tx) {
		if nextSeq(tx, h.c.id) == 1 {
			return
		}
		for _, in := range past {
			in = clean(in)
			var author string
			var at time.Time
			if tx.row(`SELECT author, said_at FROM messages WHERE conversation = ?1 AND platform_id = ?2 AND role = 'user'
				AND deleted_at IS NULL AND edited_at IS NULL AND (author <> ?3 OR said_at <> ?4 OR text <> ?5)`,
				h.c.id, in.ID, in.Author, in.Time.UnixMilli(), in.Text).Found(&author, localInto(&at)) {
				other = fmt.Errorf("%w: %q already exists, by %s, of %s", ErrOtherMessage, in.ID, author, at.Format(time.DateTime)+chat.Offset(at))
				return
			}
		}
	})
	return cmp.Or(err, other)
}

// ReadBack reports whether the messages from before the bot came have been read, or are not wanted. first is the platform id of
// the oldest message that waits for an answer, before which to read; empty: none.
func (h Past) ReadBack(ctx context.Context) (done bool, first string, err error) {
	err = h.c.row(ctx, "look what was read back", []any{&done, &first}, `SELECT read_back,
		coalesce((SELECT platform_id FROM inbox WHERE conversation = c.id AND (addressed = 1 OR optional = 1) ORDER BY id LIMIT 1), '')
		FROM conversations c WHERE id = ?`, h.c.id)
	return done, first, err
}

// Backfill delivers messages from before the bot was addressed, as FillGap does, and notes that the past has been read; if it
// already has been, or is no longer wanted, Backfill stores nothing.
func (h Past) Backfill(ctx context.Context, messages []Inbound) error {
	return h.c.Update(ctx, "deliver earlier messages", func(tx *Tx) {
		if tx.changed("UPDATE conversations SET read_back = 1 WHERE id = ? AND read_back = 0", h.c.id) {
			h.deliver(tx, messages)
		}
	})
}

// write writes those messages that are not known, each a separate turn.
func (h Past) write(tx *Tx, past []Inbound) (added []chat.Message) {
	next := nextSeq(tx, h.c.id)
	places := make(map[string]int64)
	for _, in := range past {
		in = clean(in)
		if in.ID == "" {
			tx.Fail(errNoID)
		}
		is := Inbox(h).delivery(tx, in.ID)
		if is.left || is.waits || places[in.ID] != 0 {
			continue
		}
		m := in.message()
		m.Seq = next
		m.Turn = next
		m.Attachments = h.c.Messages(tx).storeFiles(in.ID, in.Attachments)
		Transcript(h).resolve(tx, &m, places)
		if m.Seq == 1 {
			inherit(tx, h.c)
		}
		added = append(added, m)
		places[m.ID] = m.Seq
		next++
	}
	Transcript(h).add(tx, added, func(chat.Message) any { return closed })
	return added
}
