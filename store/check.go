// Checks: whether the database is consistent, can be read and written, and is in place, and how much is queued.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"time"
)

// Finding is an inconsistency in the database.
type Finding struct {
	Conversation string `json:"channel"`
	What         string `json:"what"` // a sentence
}

func (f Finding) String() string { return f.Conversation + ": " + f.What }

// Check reads the whole database and returns inconsistencies, which damage, a bug or manual SQL might have caused. It may take
// seconds for each hundred thousand messages. ErrDamaged: a page or a reference is wrong.
func (u Upkeep) Check(ctx context.Context) (found []Finding, err error) {
	err = u.store.View(ctx, func(tx *Tx) {
		u.store.engine.verify(tx)
		for _, query := range invariants {
			found = append(found, listRows(tx, func(rows *sql.Rows, f *Finding) error { return rows.Scan(&f.Conversation, &f.What) }, query)...)
		}
		for _, c := range tx.conversations("ORDER BY id") {
			if wrong := c.Summaries(tx).Load().State().Check(); wrong != nil && tx.err == nil {
				found = append(found, Finding{c.name, wrong.Error()})
			}
		}
	})
	return found, Fail("check the database", err)
}

// missing finds the conversations whose seqs have gaps, or end before the rows built from them: a deletion leaves a tombstone,
// and a purge, which removes all, starts the session after them.
const missing = `WITH known (conversation, seq) AS (
		SELECT id, session_start FROM conversations WHERE session_start < next_seq
		UNION ALL SELECT id, next_seq - 1 FROM conversations WHERE session_start < next_seq
		UNION ALL SELECT conversation, from_seq FROM sessions
		UNION ALL SELECT conversation, to_seq FROM sessions
		UNION ALL SELECT conversation, from_seq FROM compactions
		UNION ALL SELECT conversation, to_seq FROM compactions
		UNION ALL SELECT message >> 32, message & 4294967295 FROM memory_sources
		UNION ALL SELECT conversation, seq FROM messages),
	counted (conversation, n) AS (
		SELECT conversation, max(seq) - min(seq) + 1 - (SELECT count(*) FROM messages m
			WHERE m.id BETWEEN known.conversation << 32 AND known.conversation << 32 | 4294967295) FROM known GROUP BY conversation)
	SELECT coalesce((SELECT name FROM conversations WHERE id = conversation), ''), n || ' of its messages are missing' FROM counted WHERE n > 0`

// name is the conversation's name in a query.
const name = "(SELECT name FROM conversations WHERE id = "

// invariants are queries for inconsistencies. Each returns a conversation's name and a sentence.
var invariants = []string{
	// seqs
	`SELECT name, 'the next message would get the number ' || next_seq || ', which is taken' FROM conversations c
			WHERE EXISTS (SELECT 1 FROM messages WHERE id BETWEEN c.id << 32 | c.next_seq AND c.id << 32 | 4294967295)`,
	missing,
	// turns
	`SELECT ` + name + `m.conversation), '#' || m.seq || ' is of a turn that begins at #' || m.turn || ', where there is none' FROM messages m
			WHERE NOT EXISTS (SELECT 1 FROM messages t WHERE t.id = m.conversation << 32 | m.turn AND t.turn = m.turn)`,
	`SELECT ` + name + `m.conversation), '#' || m.seq || ' is among the messages of the turn of #' || p.turn FROM messages m
			JOIN messages p ON p.id = m.id - 1 WHERE m.turn < p.turn`,
	`SELECT ` + name + `m.conversation), 'the result #' || m.seq || ' belongs to no call' FROM messages m
			WHERE m.role = 'tool' AND m.deleted_at IS NULL AND NOT EXISTS (
				SELECT 1 FROM messages a WHERE a.id BETWEEN m.conversation << 32 | m.turn AND m.id AND a.role = 'assistant' AND a.turn = m.turn)`,
	// deletions
	`SELECT ` + name + `conversation), '#' || seq || ' was deleted and has text still' FROM messages
			WHERE deleted_at IS NOT NULL AND (text <> '' OR attachments NOT IN ('', '[]') OR native <> '' OR quote <> '')`,
	`SELECT coalesce(` + name + `t.conversation), ''), CASE
				WHEN m.id IS NULL THEN 'words of #' || t.seq || ' are found, which is not there'
				ELSE '#' || t.seq || ' was deleted and words of it are found still' END
			FROM message_terms t LEFT JOIN messages m ON m.id = t.conversation << 32 | t.seq
			WHERE m.id IS NULL OR m.deleted_at IS NOT NULL GROUP BY t.conversation, t.seq, m.id`,
	`SELECT coalesce(` + name + `conversation), ''), 'words of memory ' || memory || ' are found, which is not there' FROM memory_terms t
			WHERE NOT EXISTS (SELECT 1 FROM memories WHERE id = t.memory AND conversation = t.conversation) GROUP BY conversation, memory`,
	`SELECT ` + name + `m.conversation), 'memory ' || m.id || ' comes from #' || (s.message & 4294967295) || ', which is deleted' FROM memories m
			JOIN memory_sources s ON s.memory = m.id JOIN messages t ON t.id = s.message WHERE t.deleted_at IS NOT NULL`,
	`SELECT ` + name + `m.conversation), 'memory ' || m.id || ' comes from a message of another conversation' FROM memories m
			JOIN memory_sources s ON s.memory = m.id WHERE s.message >> 32 <> m.conversation GROUP BY m.id, m.conversation`,
	// what became of memories
	`SELECT ` + name + `conversation), 'memory ' || id || ' is forgotten, and what it was before is not known' FROM memories
			WHERE state = 'forgotten' AND forgotten_from = ''`,
	`SELECT ` + name + `conversation), 'memory ' || id || ' is active, and memory ' || superseded_by || ' has taken its place'
			FROM memories WHERE state = 'active' AND superseded_by IS NOT NULL AND by_rule = 0`,
	`SELECT ` + name + `m.conversation), 'memory ' || m.id || ' has a memory of another conversation in its place' FROM memories m
			JOIN memories b ON b.id = m.superseded_by WHERE b.conversation <> m.conversation`,
	`WITH RECURSIVE later (first, id) AS (SELECT id, superseded_by FROM memories WHERE superseded_by IS NOT NULL
				UNION SELECT first, superseded_by FROM later JOIN memories USING (id) WHERE superseded_by IS NOT NULL)
			SELECT ` + name + `m.conversation), 'what took the place of memory ' || m.id || ' leads back to it' FROM later JOIN memories m USING (id) WHERE first = m.id`,
	// people
	`SELECT ` + name + `conversation), name || ' counts as a member, and has said nothing' FROM members
			WHERE conversation NOT IN (SELECT conversation FROM erasures) AND (conversation, name) NOT IN (SELECT conversation, author FROM messages) GROUP BY conversation, name`,
	// the stack
	`SELECT DISTINCT ` + name + `c.conversation), 'summary ' || c.id || ', #' || from_seq || ' to #' || to_seq || ', cuts a turn'
			FROM (SELECT *, from_seq - 1 AS last FROM compactions UNION ALL SELECT *, to_seq FROM compactions) c WHERE state = 'applied'
			AND (SELECT turn FROM messages WHERE id BETWEEN c.conversation << 32 AND c.conversation << 32 | last
				AND deleted_at IS NULL ORDER BY id DESC LIMIT 1)
			= (SELECT turn FROM messages WHERE id BETWEEN c.conversation << 32 | last + 1 AND c.conversation << 32 | 4294967295
				AND deleted_at IS NULL ORDER BY id LIMIT 1)`,
	`SELECT ` + name + `c.conversation), 'summary ' || c.id || ' says that it holds ' || c.messages || ' messages and holds ' || n FROM (
			SELECT *, (SELECT count(*) FROM messages m WHERE m.id BETWEEN x.conversation << 32 | x.from_seq AND x.conversation << 32 | x.to_seq AND m.deleted_at IS NULL) AS n
			FROM compactions x WHERE state = 'applied') c WHERE c.messages <> n`,
	`SELECT ` + name + `p.conversation), 'the summaries that ' || p.id || ' was made of do not lie side by side in it' FROM compactions p
			WHERE p.state = 'applied' AND p.kind = 'rollup' AND EXISTS (SELECT 1 FROM compactions k WHERE k.parent = p.id AND k.state = 'rolled_up')
			AND (SELECT min(from_seq) <> p.from_seq OR max(to_seq) <> p.to_seq FROM compactions k WHERE k.parent = p.id AND k.state = 'rolled_up')`,
	`SELECT ` + name + `conversation), 'summary ' || id || ' was rolled up into none' FROM compactions WHERE state = 'rolled_up' AND parent IS NULL`,
	`SELECT ` + name + `conversation), 'summary ' || id || ' is shown and is empty' FROM compactions WHERE state = 'applied' AND kind <> 'placeholder' AND text = '' AND messages > 0`,
}

// Readable returns nil if the database can be read.
func (u Upkeep) Readable(ctx context.Context) error {
	return Fail("read the database", u.store.View(ctx, func(tx *Tx) { u.store.engine.version(tx) }))
}

// Writable returns nil if the database can be written, durably on disk.
func (u Upkeep) Writable(ctx context.Context) error {
	return Fail("write the database", u.store.Update(ctx, u.store.engine.touch))
}

// WrittenElsewhere returns a number that changes when another process, such as `cairn memories purge`, writes to the database.
// Other causes are rare.
func (u Upkeep) WrittenElsewhere(ctx context.Context) (number int64, err error) {
	number, err = u.store.engine.writtenElsewhere(ctx)
	return number, u.store.engine.explain(err)
}

// Intact looks for damage. ErrDamaged: the database was overwritten; ErrReplaced: it was deleted, moved or replaced. After these two
// the store refuses everything. It takes milliseconds.
func (u Upkeep) Intact(ctx context.Context) error {
	return Fail("check the database", u.store.engine.intact(ctx))
}

// InPlace returns ErrDamaged or ErrReplaced if the store cannot be used any more. It reads nothing.
func (u Upkeep) InPlace() error { return cmp.Or(u.store.engine.usable(), u.store.engine.inPlace()) }

// Damage returns the first ErrDamaged that a read or a write has met since the store was opened, even if all others succeed: a
// damaged page stays one. It reads nothing.
func (u Upkeep) Damage() error { return u.store.engine.damaged() }

// Vitals are numbers about a store, for monitoring.
type Vitals struct {
	Inbox, Outbox             int            // messages not taken up yet; pieces of replies not sent yet
	InboxOldest, OutboxOldest time.Time      // since when the oldest of them has waited; zero: none is waiting
	Memories                  map[string]int // how many, by state: active, superseded, forgotten, replaced
	Bytes, LogBytes           int64          // of the database, and of a file's write-ahead log
	Free                      int64          // bytes free on the disk of a file; -1: the server does not tell
}

// Vitals reads the numbers in milliseconds: only memories grow, and for those it reads an index.
func (u Upkeep) Vitals(ctx context.Context) (v Vitals, err error) {
	v.Memories = map[string]int{"active": 0, "superseded": 0, "forgotten": 0, "replaced": 0}
	err = u.store.View(ctx, func(tx *Tx) {
		tx.row(`SELECT (SELECT count(*) FROM inbox), (SELECT min(received_at) FROM inbox),
			(SELECT count(*) FROM outbox WHERE state IN ('waiting', 'sending')),
			(SELECT min(created_at) FROM outbox WHERE state IN ('waiting', 'sending'))`).
			Scan(&v.Inbox, utcInto(&v.InboxOldest), &v.Outbox, utcInto(&v.OutboxOldest))
		eachRow(tx, func(rows *sql.Rows) error {
			var state string
			var n int
			err := rows.Scan(&state, &n)
			v.Memories[state] = n
			return err
		}, "SELECT state, count(*) AS n FROM memories GROUP BY state")
	})
	if err == nil {
		err = u.store.engine.measure(ctx, &v)
	}
	return v, Fail("measure the database", err)
}
