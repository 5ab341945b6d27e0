// Sessions: what lies between two /new commands of a conversation.

package store

import (
	"context"
	"database/sql"
	"slices"

	"cairn/transcript"
)

const (
	sessionsShown = 100 // as many as the settings may ask for
	sessionsHeld  = 20  // older ones that need work, read at the same time
)

// WantSession records that a user wants a new session, which starts after the turn being answered and what is waiting in the
// inbox; later: there is any of that. wanted is false if nothing would be left behind.
func (cs Compactions) WantSession(ctx context.Context) (wanted, later bool, err error) {
	err = cs.c.Update(ctx, "request a new session", func(tx *Tx) {
		var before, last int64 // the last row of the inbox before the known requests, and before this one
		var known, said, waiting bool
		tx.Row(`SELECT coalesce(max(after), 0), count(*) > 0, coalesce((SELECT max(id) FROM inbox WHERE conversation = ?1), 0),
			EXISTS (SELECT 1 FROM messages WHERE id BETWEEN (SELECT id << 32 | session_start FROM conversations WHERE id = ?1) AND ?1 << 32 | 4294967295 AND deleted_at IS NULL),
			EXISTS (SELECT 1 FROM messages INDEXED BY messages_waiting WHERE `+Own+` AND answered = 0)
			FROM wanted_sessions WHERE conversation = ?1`, cs.c.id).Scan(&before, &known, &last, &said, &waiting)
		later = waiting || last > 0
		if wanted = last > before || said && !known; wanted {
			tx.Do("INSERT INTO wanted_sessions (conversation, after, wanted_at) VALUES (?, ?, ?)", cs.c.id, last, Now())
		}
	})
	return wanted, later, err
}

// SessionDue reports whether a requested session should start now: all that waited before it was taken up.
func (cs Compactions) SessionDue(ctx context.Context) (due bool, err error) {
	err = cs.c.row(ctx, "look for a requested session", []any{&due},
		`SELECT NOT EXISTS (SELECT 1 FROM inbox WHERE conversation = ?1 AND id <= after)
		FROM wanted_sessions WHERE conversation = ?1 ORDER BY after, id LIMIT 1`, cs.c.id)
	return due, err
}

// DropSession forgets the oldest request for a session: it would leave nothing behind.
func (cs Compactions) DropSession(ctx context.Context) error {
	return cs.c.set(ctx, "forget a request for a session", dropSession, cs.c.id)
}

const dropSession = `DELETE FROM wanted_sessions WHERE id = (
	SELECT id FROM wanted_sessions WHERE conversation = ? ORDER BY after, id LIMIT 1)`

// earlier reads the newest earlier sessions, and of those before them the newest that need work, oldest first.
func (c *Conversation) earlier(tx *Tx) []transcript.Session {
	sessions := c.sessions(tx, "ORDER BY from_seq DESC LIMIT ?", sessionsShown)
	if len(sessions) == sessionsShown {
		sessions = append(sessions, c.sessions(tx, "AND NOT settled AND from_seq < ? ORDER BY from_seq DESC LIMIT ?", sessions[len(sessions)-1].From, sessionsHeld)...)
	}
	slices.Reverse(sessions)
	newest := sessions[max(len(sessions)-sessionsShown, 0):]
	for i, s := range sessions[:len(sessions)-len(newest)] {
		sessions[i].Rows = c.activeIn(tx, transcript.Span{From: s.From, To: s.To})
	}
	if len(newest) == 0 {
		return nil
	}
	for _, row := range c.activeIn(tx, transcript.Span{From: newest[0].From, To: newest[len(newest)-1].To}) {
		i := slices.IndexFunc(newest, func(s transcript.Session) bool { return row.From <= s.To })
		newest[i].Rows = append(newest[i].Rows, row)
	}
	return sessions
}

func (c *Conversation) sessions(tx *Tx, rest string, args ...any) []transcript.Session {
	return List(tx, func(rows *sql.Rows, s *transcript.Session) error { return rows.Scan(&s.From, &s.To) },
		"SELECT from_seq, to_seq FROM sessions WHERE conversation = ? "+rest, append([]any{c.id}, args...)...)
}
