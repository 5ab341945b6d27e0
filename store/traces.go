// Traces: what is stored about a person in a conversation.

package store

// Traces are those of one person in one conversation, in one transaction.
type Traces struct {
	c   handle
	tx  *Tx
	who Person
}

// CountMessages counts the person's messages, waiting ones included, and the tasks that they asked for.
func (tr Traces) CountMessages() int {
	return getValue[int](tr.tx, `SELECT (SELECT count(*) FROM messages
			WHERE author_id = ?2 AND role = 'user' AND `+inConversation+` AND deleted_at IS NULL)
		+ (SELECT count(*) FROM inbox WHERE conversation = ?1 AND author_id = ?2)
		+ (SELECT count(*) FROM tasks WHERE parent = ?1 AND author = ?2)`,
		tr.c.id, tr.who.ID)
}

// Waiting returns the person's waiting messages.
func (tr Traces) Waiting() []Inbound {
	return Inbox{tr.c}.waiting(tr.tx, "AND author_id = ?", tr.who.ID)
}

// OldestMessages returns the platform IDs of the person's oldest messages before a seq, at most limit, and the seq up to which it looked.
func (tr Traces) OldestMessages(before int64, limit int) (ids []string, upto int64) {
	low, last := tr.c.rowRange(1, before-1)
	high := getValue[int64](tr.tx, `SELECT coalesce((SELECT id FROM messages
		WHERE author_id = ? AND role = 'user' AND id BETWEEN ? AND ? AND deleted_at IS NULL ORDER BY id LIMIT 1 OFFSET ?), ?)`,
		tr.who.ID, low, last, limit-1, last)
	ids = listValues[string](tr.tx, `SELECT platform_id FROM messages
		WHERE author_id = ? AND role = 'user' AND id BETWEEN ? AND ? AND deleted_at IS NULL`, tr.who.ID, low, high)
	return ids, high & MaxSeq
}

// quotedOf selects the ids of messages that the bot never read, and that replies quote under a name of the person, the only thing
// known about their author. Another person of that name loses such a quote too.
const quotedOf = `WITH names (start) AS (SELECT DISTINCT author || ': ' FROM messages
		WHERE author_id = ?2 AND role = 'user' AND id BETWEEN ?3 AND ?4 AND author <> ''),
	replies (id, quote) AS (SELECT reply_to, quote FROM messages WHERE conversation = ?1 AND reply_to > '' AND quote <> ''
		UNION ALL SELECT reply_to, quote FROM inbox WHERE conversation = ?1 AND quote <> '')
	SELECT DISTINCT id FROM replies r JOIN names ON substr(quote, 1, length(start)) = start
		WHERE NOT EXISTS (SELECT 1 FROM messages WHERE conversation = ?1 AND platform_id = r.id AND role = 'user')
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE conversation = ?1 AND platform_id = r.id)`

// Quoted returns the platform IDs of messages that the bot never read, and that replies quote under a name that the person had in their
// messages up to a seq.
func (tr Traces) Quoted(upto int64) []string {
	low, high := tr.c.rowRange(1, upto)
	return listValues[string](tr.tx, quotedOf, tr.c.id, tr.who.ID, low, high)
}

// AnonymizeMessages removes the person's name and ID from their deleted messages up to a seq, and the label of the conversation if
// it is a name of theirs.
func (tr Traces) AnonymizeMessages(upto int64) {
	low, high := tr.c.rowRange(1, upto)
	tr.tx.do(`UPDATE conversations SET label = '' WHERE id = ? AND label IN (SELECT author FROM messages
		WHERE author_id = ? AND role = 'user' AND id BETWEEN ? AND ?)`, tr.c.id, tr.who.ID, low, high)
	tr.tx.do(`UPDATE messages SET author = '', author_id = ''
		WHERE author_id = ? AND role = 'user' AND id BETWEEN ? AND ? AND deleted_at IS NOT NULL`, tr.who.ID, low, high)
}

// concerning selects the memories of conversation ?1 that person ?2 said first, or that are about them, up to number ?3.
const concerning = `SELECT DISTINCT p.memory FROM memory_people p JOIN memories k ON k.id = p.memory
	WHERE p.author_id = ?2 AND p.role IN ('said', 'about') AND k.conversation = ?1 AND k.id <= ?3`

// CountMemories counts the memories that the person said first, or that are about them, up to a number.
func (tr Traces) CountMemories(upto int64) int {
	return getValue[int](tr.tx, "SELECT count(*) FROM ("+concerning+") found", tr.c.id, tr.who.ID, upto)
}

// OldestMemories returns the oldest of these memories, at most limit.
func (tr Traces) OldestMemories(upto int64, limit int) []Memory {
	return tr.tx.memories("WHERE m.id IN ("+concerning+" ORDER BY 1 LIMIT ?4)", tr.c.id, tr.who.ID, upto, limit)
}

// DetachMemories removes the person from all memories of the conversation up to a number: those that are left rest on what others wrote.
func (tr Traces) DetachMemories(upto int64) {
	tr.tx.do(`DELETE FROM memory_people WHERE author_id = ?2
		AND memory IN (SELECT id FROM memories WHERE conversation = ?1 AND id <= ?3)`, tr.c.id, tr.who.ID, upto)
}

// DeleteMembers removes the names under which no message of their person is left.
func (tr Traces) DeleteMembers() {
	tr.tx.do(`DELETE FROM members WHERE conversation = ?1 AND (name, author_id) NOT IN (
		SELECT author, author_id FROM messages WHERE `+inConversation+` AND role = 'user' AND deleted_at IS NULL)`, tr.c.id)
}

// RequestErasure notes that the person's messages so far, and memories so far, must be deleted. Messages from before the bot came
// are not read any more.
func (tr Traces) RequestErasure() {
	tr.tx.do(`INSERT INTO erasures (conversation, author_id, before, upto, asked_at)
		SELECT id, ?, next_seq, (SELECT coalesce(max(id), 0) FROM memories), CAST(? AS BIGINT) FROM conversations WHERE id = ?
		ON CONFLICT (conversation, author_id) DO UPDATE SET before = excluded.before, upto = excluded.upto, asked_at = excluded.asked_at`, tr.who.ID, nowMillis(), tr.c.id)
	tr.tx.do("UPDATE conversations SET read_back = 1 WHERE id = ?", tr.c.id)
}

// Requested returns before which seq messages, and up to which number memories, are to be deleted; found is false if nothing is.
func (tr Traces) Requested() (before, upto int64, found bool) {
	found = tr.tx.row("SELECT before, upto FROM erasures WHERE conversation = ? AND author_id = ?", tr.c.id, tr.who.ID).Found(&before, &upto)
	return before, upto, found
}

// EndErasure notes that nothing is left to delete, unless messages that were missed are still to be read.
func (tr Traces) EndErasure() {
	tr.tx.do(`DELETE FROM erasures WHERE conversation = ?1 AND author_id = ?2
		AND (SELECT gap IS NULL FROM conversations WHERE id = ?1)`, tr.c.id, tr.who.ID)
}
