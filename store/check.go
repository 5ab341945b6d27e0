// Checks: whether the database is consistent, can be read and written, and is in place, and how much is queued.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
		verify(tx)
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
	SELECT coalesce((SELECT name FROM conversations WHERE id = conversation), ''), printf('%d of its messages are missing', n) FROM counted WHERE n > 0`

// name is the conversation's name in a query.
const name = "(SELECT name FROM conversations WHERE id = "

// invariants are queries for inconsistencies. Each returns a conversation's name and a sentence.
var invariants = []string{
	// seqs
	`SELECT name, printf('the next message would get the number %d, which is taken', next_seq) FROM conversations c
			WHERE EXISTS (SELECT 1 FROM messages WHERE id BETWEEN c.id << 32 | c.next_seq AND c.id << 32 | 4294967295)`,
	missing,
	// turns
	`SELECT ` + name + `m.conversation), printf('#%d is of a turn that begins at #%d, where there is none', m.seq, m.turn) FROM messages m
			WHERE NOT EXISTS (SELECT 1 FROM messages t WHERE t.id = m.conversation << 32 | m.turn AND t.turn = m.turn)`,
	`SELECT ` + name + `m.conversation), printf('#%d is among the messages of the turn of #%d', m.seq, p.turn) FROM messages m
			JOIN messages p ON p.id = m.id - 1 WHERE m.turn < p.turn`,
	`SELECT ` + name + `m.conversation), printf('the result #%d belongs to no call', m.seq) FROM messages m
			WHERE m.role = 'tool' AND m.deleted_at IS NULL AND NOT EXISTS (
				SELECT 1 FROM messages a WHERE a.id BETWEEN m.conversation << 32 | m.turn AND m.id AND a.role = 'assistant' AND a.turn = m.turn)`,
	// deletions
	`SELECT ` + name + `conversation), printf('#%d was deleted and has text still', seq) FROM messages
			WHERE deleted_at IS NOT NULL AND (text <> '' OR attachments NOT IN ('', '[]') OR native <> '' OR quote <> '')`,
	`SELECT coalesce(` + name + `t.conversation), ''), printf(
				iif(m.id IS NULL, 'words of #%d are found, which is not there', '#%d was deleted and words of it are found still'), t.seq)
			FROM message_terms t LEFT JOIN messages m ON m.id = t.conversation << 32 | t.seq
			WHERE m.id IS NULL OR m.deleted_at IS NOT NULL GROUP BY t.conversation, t.seq`,
	`SELECT coalesce(` + name + `conversation), ''), printf('words of memory %d are found, which is not there', memory) FROM memory_terms t
			WHERE NOT EXISTS (SELECT 1 FROM memories WHERE id = t.memory AND conversation = t.conversation) GROUP BY memory`,
	`SELECT ` + name + `m.conversation), printf('memory %d comes from #%d, which is deleted', m.id, s.message & 4294967295) FROM memories m
			JOIN memory_sources s ON s.memory = m.id JOIN messages t ON t.id = s.message WHERE t.deleted_at IS NOT NULL`,
	`SELECT ` + name + `m.conversation), printf('memory %d comes from a message of another conversation', m.id) FROM memories m
			JOIN memory_sources s ON s.memory = m.id WHERE s.message >> 32 <> m.conversation GROUP BY m.id`,
	// what became of memories
	`SELECT ` + name + `conversation), printf('memory %d is forgotten, and what it was before is not known', id) FROM memories
			WHERE state = 'forgotten' AND forgotten_from = ''`,
	`SELECT ` + name + `conversation), printf('memory %d is active, and memory %d has taken its place', id, superseded_by)
			FROM memories WHERE state = 'active' AND superseded_by IS NOT NULL AND NOT by_rule`,
	`SELECT ` + name + `m.conversation), printf('memory %d has a memory of another conversation in its place', m.id) FROM memories m
			JOIN memories b ON b.id = m.superseded_by WHERE b.conversation <> m.conversation`,
	`WITH RECURSIVE later (first, id) AS (SELECT id, superseded_by FROM memories WHERE superseded_by IS NOT NULL
				UNION SELECT first, superseded_by FROM later JOIN memories USING (id) WHERE superseded_by IS NOT NULL)
			SELECT ` + name + `m.conversation), printf('what took the place of memory %d leads back to it', m.id) FROM later JOIN memories m USING (id) WHERE first = m.id`,
	// people
	`SELECT ` + name + `conversation), printf('%s counts as a member, and has said nothing', name) FROM members
			WHERE conversation NOT IN (SELECT conversation FROM erasures) AND (conversation, name) NOT IN (SELECT conversation, author FROM messages) GROUP BY conversation, name`,
	// the stack
	`SELECT DISTINCT ` + name + `c.conversation), printf('summary %d, #%d to #%d, cuts a turn', c.id, from_seq, to_seq)
			FROM compactions c JOIN json_each(json_array(from_seq - 1, to_seq)) last WHERE state = 'applied'
			AND (SELECT turn FROM messages WHERE id BETWEEN c.conversation << 32 AND c.conversation << 32 | last.value
				AND deleted_at IS NULL ORDER BY id DESC LIMIT 1)
			= (SELECT turn FROM messages WHERE id BETWEEN c.conversation << 32 | last.value + 1 AND c.conversation << 32 | 4294967295
				AND deleted_at IS NULL ORDER BY id LIMIT 1)`,
	`SELECT ` + name + `c.conversation), printf('summary %d says that it holds %d messages and holds %d', c.id, c.messages, n) FROM (
			SELECT *, (SELECT count(*) FROM messages m WHERE m.id BETWEEN x.conversation << 32 | x.from_seq AND x.conversation << 32 | x.to_seq AND m.deleted_at IS NULL) AS n
			FROM compactions x WHERE state = 'applied') c WHERE c.messages <> n`,
	`SELECT ` + name + `p.conversation), printf('the summaries that %d was made of do not lie side by side in it', p.id) FROM compactions p
			WHERE p.state = 'applied' AND p.kind = 'rollup' AND EXISTS (SELECT 1 FROM compactions k WHERE k.parent = p.id AND k.state = 'rolled_up')
			AND (SELECT min(from_seq) <> p.from_seq OR max(to_seq) <> p.to_seq FROM compactions k WHERE k.parent = p.id AND k.state = 'rolled_up')`,
	`SELECT ` + name + `conversation), printf('summary %d was rolled up into none', id) FROM compactions WHERE state = 'rolled_up' AND parent IS NULL`,
	`SELECT ` + name + `conversation), printf('summary %d is shown and is empty', id) FROM compactions WHERE state = 'applied' AND kind <> 'placeholder' AND text = '' AND messages > 0`,
}

// inPlace returns ErrReplaced if the store's path does not lead to the file it has open: nobody would find the data again.
func (s *Store) inPlace() error {
	now, err := os.Stat(s.path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look at the database: %w", err)
	case err != nil || !os.SameFile(now, s.file):
		return fmt.Errorf("%w: put it back, or stop the bot and run `cairn restore FILE`", ErrReplaced)
	}
	return nil
}

// Readable returns nil if the database can be read.
func (u Upkeep) Readable(ctx context.Context) error {
	return Fail("read the database", u.store.View(ctx, func(tx *Tx) { versionOf(tx) }))
}

// Writable returns nil if the database can be written, durably on disk.
func (u Upkeep) Writable(ctx context.Context) error {
	return u.store.set(ctx, "write the database", fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
}

// WrittenElsewhere returns a number that changes when another process, such as `cairn memories purge`, writes to the database.
// Other causes are rare.
func (u Upkeep) WrittenElsewhere(ctx context.Context) (number int64, err error) {
	err = u.store.write.QueryRowContext(ctx, "PRAGMA data_version").Scan(&number) // of the only connection that writes here
	return number, u.store.explain(err)
}

// Vitals are numbers about a store, for monitoring.
type Vitals struct {
	Inbox, Outbox             int            // messages not taken up yet; pieces of replies not sent yet
	InboxOldest, OutboxOldest time.Time      // since when the oldest of them has waited; zero: none is waiting
	Memories                  map[string]int // how many, by state: active, superseded, forgotten, replaced
	Bytes, LogBytes           int64          // of the database file and of its write-ahead log
	Free                      int64          // bytes free on its disk
}

// Vitals reads the numbers in milliseconds: only memories grow, and for those it reads an index.
func (u Upkeep) Vitals(ctx context.Context) (v Vitals, err error) {
	v.Memories = map[string]int{"active": 0, "superseded": 0, "forgotten": 0, "replaced": 0}
	err = u.store.View(ctx, func(tx *Tx) {
		tx.row(`SELECT (SELECT count(*) FROM inbox), (SELECT min(received_at) FROM inbox),
			(SELECT count(*) FROM outbox WHERE state IN ('waiting', 'sending')),
			(SELECT min(created_at) FROM outbox WHERE state IN ('waiting', 'sending')),
			(SELECT json_group_object(state, n) FROM (SELECT state, count(*) AS n FROM memories GROUP BY state))`).
			Scan(&v.Inbox, utcInto(&v.InboxOldest), &v.Outbox, utcInto(&v.OutboxOldest), jsonInto(&v.Memories))
	})
	file, statErr := os.Stat(u.store.path)
	err = cmp.Or(err, statErr)
	if err != nil {
		return v, Fail("measure the database", err)
	}
	v.Bytes = file.Size()
	if log, err := os.Stat(u.store.path + "-wal"); err == nil { // the log may be missing
		v.LogBytes = log.Size()
	}
	v.Free, err = freeBytes(filepath.Dir(u.store.path))
	return v, err
}
