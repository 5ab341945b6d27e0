// Sessions: the requests for new ones, and earlier ones with their summaries.

package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"cairn/transcript"
)

const (
	maxSessions  = 100 // as many as the settings may ask for
	maxUnsettled = 20  // older ones that need work, read at the same time
)

// Request records that a user wants a new session, which starts after the turn being answered and what is waiting in the
// inbox; later: there is any of that. wanted is false if nothing would be left behind. at is the time, by the clock by which messages
// have their times.
func (se Sessions) Request(ctx context.Context, at time.Time) (accepted, later bool, err error) {
	err = se.c.Update(ctx, "request a new session", func(tx *Tx) {
		var before, last int64 // the last row of the inbox before the known requests, and before this one
		var known, hasMessages, waiting bool
		tx.row(`SELECT coalesce(max(after), 0), count(*) > 0, coalesce((SELECT max(id) FROM inbox WHERE conversation = ?1), 0),
			EXISTS (SELECT 1 FROM messages WHERE id BETWEEN (SELECT id << 32 | session_start FROM conversations WHERE id = ?1)
				AND CAST(?1 AS BIGINT) << 32 | 4294967295 AND deleted_at IS NULL),
			EXISTS (SELECT 1 FROM messages WHERE `+inConversation+` AND answered = 0)
			FROM wanted_sessions WHERE conversation = ?1`, se.c.id).Scan(&before, &known, &last, &hasMessages, &waiting)
		later = waiting || last > 0
		accepted = last > before || hasMessages && !known
		if accepted {
			tx.do("INSERT INTO wanted_sessions (conversation, after, wanted_at) VALUES (?, ?, ?)", se.c.id, last, at.UnixMilli())
		}
	})
	return accepted, later, err
}

// Due reports whether a requested session should start now: all that waited before it was taken up.
func (se Sessions) Due(ctx context.Context) (due bool, err error) {
	err = se.c.row(ctx, "look for a requested session", []any{&due},
		`SELECT NOT EXISTS (SELECT 1 FROM inbox WHERE conversation = ?1 AND id <= after)
		FROM wanted_sessions WHERE conversation = ?1 ORDER BY after, id LIMIT 1`, se.c.id)
	return due, err
}

// DropRequest forgets the oldest request for a session: it would leave nothing behind.
func (se Sessions) DropRequest(ctx context.Context) error {
	return se.c.set(ctx, "forget a request for a session", dropSession, se.c.id)
}

const dropSession = `DELETE FROM wanted_sessions WHERE id = (
	SELECT id FROM wanted_sessions WHERE conversation = ? ORDER BY after, id LIMIT 1)`

// earlier reads the newest earlier sessions, and of those before them the newest that need work, oldest first.
func (ss Summaries) earlier() []transcript.Session {
	sessions := sessionsOf(ss.tx, ss.c.id, "ORDER BY from_seq DESC LIMIT ?", maxSessions)
	if len(sessions) == maxSessions {
		oldest := sessions[len(sessions)-1].From
		sessions = append(sessions, sessionsOf(ss.tx, ss.c.id, "AND settled = 0 AND from_seq < ? ORDER BY from_seq DESC LIMIT ?", oldest, maxUnsettled)...)
	}
	slices.Reverse(sessions)
	newest := sessions[max(len(sessions)-maxSessions, 0):]
	for i, s := range sessions[:len(sessions)-len(newest)] {
		sessions[i].Rows = ss.activeIn(transcript.Span{From: s.From, To: s.To})
	}
	if len(newest) == 0 {
		return nil
	}
	for _, row := range ss.activeIn(transcript.Span{From: newest[0].From, To: newest[len(newest)-1].To}) {
		i := slices.IndexFunc(newest, func(s transcript.Session) bool { return row.From <= s.To })
		newest[i].Rows = append(newest[i].Rows, row)
	}
	return sessions
}

func sessionsOf(tx *Tx, conversation int64, rest string, args ...any) []transcript.Session {
	return listRows(tx, func(rows *sql.Rows, s *transcript.Session) error { return rows.Scan(&s.From, &s.To) },
		"SELECT from_seq, to_seq FROM sessions WHERE conversation = ? "+rest, append([]any{conversation}, args...)...)
}
