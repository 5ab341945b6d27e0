// Listing: which conversations exist, and what people call them.

package store

import (
	"context"
	"database/sql"
	"strings"
	"time"
)

// Listed is a conversation and how many messages it has.
type Listed struct {
	Channel  string    `json:"channel"`
	Name     string    `json:"name,omitempty"` // what people call it; empty: its platform has not given a name
	Messages int       `json:"messages"`       // without deleted ones
	Last     time.Time `json:"last,omitzero"`  // time of the newest of them; zero: there are none
}

// inUse is true for a conversation c that has messages, waiting ones included, or memories. Of a
// purged one the name is kept, and it is not listed.
const inUse = `(EXISTS (SELECT 1 FROM messages WHERE id BETWEEN c.id << 32 AND c.id << 32 | 4294967295 AND deleted_at IS NULL)
	OR EXISTS (SELECT 1 FROM inbox WHERE conversation = c.id) OR EXISTS (SELECT 1 FROM memories WHERE conversation = c.id))`

// Listing returns the conversations that are in use, the one with the newest message first.
func (s *Store) Listing(ctx context.Context) ([]Listed, error) {
	all, err := selectAlone(ctx, s, func(rows *sql.Rows, l *Listed) error {
		return rows.Scan(&l.Channel, &l.Name, &l.Messages, utc(&l.Last))
	}, `SELECT c.name, c.label, count(m.id), coalesce(max(m.said_at), 0) FROM conversations c
		LEFT JOIN messages m ON m.id BETWEEN c.id << 32 AND c.id << 32 | 4294967295 AND m.deleted_at IS NULL
		WHERE `+inUse+` GROUP BY c.id ORDER BY 4 DESC, c.name`)
	return all, Fail("list conversations", err)
}

// maxLabel is the longest name kept for a place, in bytes.
const maxLabel = 300

// Called returns what people call the place, or else the conversation's name.
func (tr Transcript) Called(ctx context.Context) (name string, err error) {
	err = tr.c.store.query(ctx, func(rows *sql.Rows) error { return rows.Scan(&name) }, "SELECT coalesce(nullif(label, ''), name) FROM conversations WHERE id = ?", tr.c.id)
	return name, err
}

// relabel stores what people call the place, if that is known and has changed.
func (c *Conversation) relabel(tx *Tx, label string) {
	if label = strings.ToValidUTF8(label[:min(len(label), maxLabel)], ""); label != "" {
		tx.Do("UPDATE conversations SET label = ?1 WHERE id = ?2 AND label <> ?1", label, c.id)
	}
}

// Place is a conversation in a list.
type Place struct {
	Channel string    // its name
	Label   string    // what people call it; "": unknown
	Last    time.Time // when the newest message was sent; zero: none
	Next    int64     // the seq that the next message gets
	Version int64     // raised by every change of its head
}

// Places returns a page of the conversations in use whose name or label contains some words, newest
// message first, and how many there are. Its cost does not grow with their messages.
func (s *Store) Places(ctx context.Context, words string, limit, offset int) (page []Place, total int, err error) {
	err = s.query(ctx, func(rows *sql.Rows) error {
		var p Place
		err := rows.Scan(&p.Channel, &p.Label, &p.Next, &p.Version, utc(&p.Last), &total)
		page = append(page, p)
		return err
	}, `SELECT name, label, next_seq, version, coalesce((SELECT said_at FROM messages m WHERE m.id BETWEEN c.id << 32 AND c.id << 32 | 4294967295
		ORDER BY m.id DESC LIMIT 1), 0) AS last, count(*) OVER () FROM conversations c
		WHERE instr(lower(name || ' ' || label), lower(?)) > 0 AND `+inUse+` ORDER BY last DESC, name LIMIT ? OFFSET ?`, words, limit, offset)
	if err == nil && len(page) == 0 && offset > 0 { // beyond the end no row has the total
		_, total, err = s.Places(ctx, words, 1, 0)
	}
	return page, total, err
}
