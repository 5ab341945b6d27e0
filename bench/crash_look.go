package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"cairn/store"
	"cairn/testkit/storetest"
)

// examiner examines what a process left on disk. It works on a copy, so that the next process still
// recovers from the log that SQLite left behind.
type examiner struct {
	db        *sql.DB
	clients   *clients
	connector string // of all conversations
}

// moments are states of the database at which a process can die, with the query that detects each.
var moments = []struct{ name, query string }{
	{"messages waited to be taken up", "SELECT EXISTS (SELECT 1 FROM inbox)"},
	{"a turn waited for its answer", "SELECT EXISTS (SELECT 1 FROM messages WHERE answered = 0)"},
	{"a reply waited to be sent", "SELECT EXISTS (SELECT 1 FROM outbox WHERE state = 'waiting')"},
	{"a reply was being sent", "SELECT EXISTS (SELECT 1 FROM outbox WHERE state = 'sending')"},
	{"a summary was being made", "SELECT EXISTS (SELECT 1 FROM compactions WHERE state = 'running' AND kind = 'leaf' AND trigger <> 'repair')"},
	{"a summary was being made anew", "SELECT EXISTS (SELECT 1 FROM compactions WHERE state = 'running' AND trigger = 'repair')"},
	{"a rollup was being made", "SELECT EXISTS (SELECT 1 FROM compactions WHERE state = 'running' AND kind = 'rollup' AND trigger <> 'repair')"},
	{"a summary was ready and not shown", "SELECT EXISTS (SELECT 1 FROM compactions WHERE state = 'prepared')"},
	{"messages were behind a placeholder", "SELECT EXISTS (SELECT 1 FROM compactions WHERE state = 'applied' AND kind = 'placeholder')"},
	{"a session was to begin", "SELECT EXISTS (SELECT 1 FROM wanted_sessions)"},
	{"somebody was being forgotten", "SELECT EXISTS (SELECT 1 FROM erasures)"},
}

// examine copies the database from dir to to, checks it, and returns the moments that it shows.
func (l *examiner) examine(ctx context.Context, dir, to string) (found []string, err error) {
	if _, err := os.Stat(store.File(dir)); errors.Is(err, os.ErrNotExist) {
		return nil, l.checkNoneAccepted() // it died before it created the file
	}
	if err := errors.Join(os.RemoveAll(to), storetest.CopyFolder(to, dir)); err != nil {
		return nil, err
	}
	l.db, err = sql.Open("sqlite3", store.File(to))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.db.Close()) }()
	var version int
	if err := l.db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return nil, err
	}
	if version == 0 {
		return nil, l.checkNoneAccepted() // it died before it created the tables
	}
	for _, m := range moments {
		var there bool
		if err := l.db.QueryRow(m.query).Scan(&there); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		if there {
			found = append(found, m.name)
		}
	}
	if err := errors.Join(l.checkDatabase(ctx, to), l.messages(), l.replies()); err != nil {
		return nil, err
	}
	return found, nil
}

// checkNoneAccepted checks that no message was accepted: there is no database.
func (l *examiner) checkNoneAccepted() error {
	for _, u := range l.clients.said {
		if u.accepted {
			l.clients.violationLocked("%s was accepted, and there is no database", u.id)
		}
	}
	return nil
}

// checkDatabase runs the checks of `cairn doctor`.
func (l *examiner) checkDatabase(ctx context.Context, dir string) error {
	if _, err := store.Inspect(ctx, store.File(dir)); err != nil { // reads every page
		l.clients.violationLocked("the file: %v", err)
		return nil
	}
	data, err := store.Open(ctx, store.Options{Dir: dir, Shared: true})
	if err != nil {
		return err
	}
	findings, err := data.Upkeep().Check(ctx)
	for _, f := range findings {
		l.clients.violationLocked("%s", f)
	}
	return errors.Join(err, data.Close())
}

// messages compares the transcript with the messages that were sent.
func (l *examiner) messages() error {
	rows, err := l.db.Query(`SELECT c.name, x.id, x.seq, x.text, x.deleted FROM (
			SELECT conversation, platform_id AS id, seq, text, deleted_at IS NOT NULL AS deleted FROM messages WHERE role = 'user'
			UNION ALL SELECT conversation, platform_id, 0, text, 0 FROM inbox) x
		JOIN conversations c ON c.id = x.conversation`)
	if err != nil {
		return err
	}
	defer rows.Close()
	there := map[string]bool{}
	for rows.Next() {
		var channel, id, text string
		var seq int64
		var deleted bool
		if err := rows.Scan(&channel, &id, &seq, &text, &deleted); err != nil {
			return err
		}
		u := l.clients.byID[id]
		switch {
		case u == nil || channel != l.connector+":"+u.channel:
			l.clients.violationLocked("%s stands in %s, where nobody said it", id, channel)
		case there[id]:
			l.clients.violationLocked("%s is there twice", id)
		case deleted && !u.forgotten:
			l.clients.violationLocked("%s was deleted, and nobody wanted that", id)
		case !deleted && text != u.text && !slices.Contains(u.earlier, text):
			l.clients.violationLocked("%s says %.60q, not %.60q", id, text, u.text)
		case seq != 0 && u.seq != 0 && seq != u.seq:
			l.clients.violationLocked("%s is #%d, and was accepted as #%d", id, seq, u.seq)
		}
		there[id] = true
	}
	for _, u := range l.clients.said {
		if u.accepted && !there[u.id] && !u.forgotten {
			l.clients.violationLocked("%s was accepted and is lost", u.id)
		}
	}
	return rows.Err()
}

// replies looks for messages that were answered twice, and for replies that people saw but the bot
// does not know.
func (l *examiner) replies() error {
	for what, query := range map[string]string{
		"was answered twice":           "SELECT (SELECT name FROM conversations WHERE id = conversation) || ' #' || turn FROM messages WHERE role = 'assistant' AND platform_id <> '' GROUP BY conversation, turn HAVING count(*) > 1",
		"stands in the outbox twice":   "SELECT (SELECT name FROM conversations WHERE id = conversation) || ' ' || reply FROM outbox GROUP BY conversation, reply, part HAVING count(*) > 1",
		"was not sent and given up":    "SELECT (SELECT name FROM conversations WHERE id = conversation) || ' ' || reply FROM outbox WHERE state = 'dropped'",
		"lacks messages in the middle": "SELECT (SELECT name FROM conversations WHERE id = conversation) FROM messages GROUP BY conversation HAVING count(*) <> max(seq)",
	} {
		if err := l.each(query, func(which string) { l.clients.violationLocked("%s %s", which, what) }); err != nil {
			return err
		}
	}
	known := map[string]bool{}
	err := l.each("SELECT (SELECT name FROM conversations WHERE id = conversation) || ' ' || reply FROM outbox", func(reply string) {
		known[strings.TrimPrefix(reply, l.connector+":")] = true
	})
	for key := range l.clients.replies {
		if _, id, _ := strings.Cut(key, " "); strings.HasPrefix(id, "reply-") && !known[key] {
			l.clients.violationLocked("%s was seen and is not on disk", key)
		}
	}
	return err
}

func (l *examiner) each(query string, do func(string)) error {
	rows, err := l.db.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return err
		}
		do(one)
	}
	return rows.Err()
}
