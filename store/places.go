// The list of conversations: what people call each, and which they archived.

package store

import (
	"context"
	"database/sql"
	"math"
	"strings"
	"time"
)

// inUse is true for a conversation c that has messages, waiting ones included, or memories; a purged one has none.
const inUse = `(EXISTS (SELECT 1 FROM messages WHERE id BETWEEN c.id << 32 AND c.id << 32 | 4294967295 AND deleted_at IS NULL)
	OR EXISTS (SELECT 1 FROM inbox WHERE conversation = c.id) OR EXISTS (SELECT 1 FROM memories WHERE conversation = c.id))`

// Called returns what people call the place, or else the conversation's name.
func (tr Transcript) Called(ctx context.Context) (name string, err error) {
	err = tr.c.row(ctx, "read the name", []any{&name},
		"SELECT coalesce(nullif(label, ''), name) FROM conversations WHERE id = ?", tr.c.id)
	return name, err
}

const maxLabel = 300 // bytes

// relabel stores what people call the place, if that is known and has changed.
func relabel(tx *Tx, conversation int64, label string) {
	label = strings.ToValidUTF8(label[:min(len(label), maxLabel)], "")
	if label != "" {
		tx.do("UPDATE conversations SET label = ?1 WHERE id = ?2 AND label <> ?1", label, conversation)
	}
}

// Rename stores a name that people give the conversation; an empty one removes it. A platform that names its places gives them
// their name again with the next message.
func (tr Transcript) Rename(ctx context.Context, label string) error {
	label = storable(label)
	label = strings.ToValidUTF8(label[:min(len(label), maxLabel)], "")
	return tr.c.enter(ctx, "rename it", quiet, func(tx *Tx) { tx.do("UPDATE conversations SET label = ? WHERE id = ?", label, tr.c.id) })
}

// Archive takes the conversation out of the usual list until somebody writes there; with false it brings it back.
func (tr Transcript) Archive(ctx context.Context, archived bool) error {
	at := int64(0)
	if archived {
		at = nowMillis()
	}
	return tr.c.enter(ctx, "archive it", quiet, func(tx *Tx) { tx.do("UPDATE conversations SET archived_at = ? WHERE id = ?", at, tr.c.id) })
}

// Place is a conversation in a list.
type Place struct {
	Channel  string    `json:"channel"`        // its name
	Name     string    `json:"name,omitempty"` // what people call it; empty: its platform has not given a name
	Messages int       `json:"messages"`       // without deleted ones; counted only in a list of all, because that takes time
	Last     time.Time `json:"last,omitzero"`  // when the newest of them was sent; zero: there are none
	Next     int64     `json:"-"`              // the seq that the next message gets
	Version  int64     `json:"-"`              // raised by every change of its head
	Archived bool      `json:"-"`              // people archived it, and nobody has written there since
}

// noLimit is a limit that no list reaches.
const noLimit = math.MaxInt32

// limitOf returns a limit for SQL; a negative one is none.
func limitOf(limit int) int {
	if limit < 0 {
		return noLimit
	}
	return limit
}

// PlaceFilter chooses conversations.
type PlaceFilter struct {
	Words         string // in its name or label
	Connector     string // its name; empty: all
	Archived      string // of ArchivedStates; empty: both
	Limit, Offset int    // a Limit of -1: all, with their Messages
}

// ArchivedStates say whether a conversation is archived.
var ArchivedStates = []string{"yes", "no"}

// Places returns a page of the conversations in use whose name or label contains some words, newest message first, and how many
// there are, as PlacesOf does.
func (s *Store) Places(ctx context.Context, words string, limit, offset int) (page []Place, total int, err error) {
	return PlacesOf(ctx, s, PlaceFilter{Words: words, Limit: limit, Offset: offset})
}

// PlacesOf returns a page of the conversations in use that a filter chooses, newest message first, and how many there are. Its cost
// does not grow with their messages, unless the limit is -1.
func PlacesOf(ctx context.Context, s *Store, f PlaceFilter) (page []Place, total int, err error) {
	prefix := ""
	if f.Connector != "" {
		prefix = f.Connector + ":"
	}
	page, err = selectAlone(ctx, s, func(rows *sql.Rows, p *Place) error {
		return rows.Scan(&p.Channel, &p.Name, &p.Next, &p.Version, &p.Messages, utcInto(&p.Last), &p.Archived, &total)
	}, `SELECT name, label, next_seq, version, messages, last, archived, count(*) OVER () FROM (SELECT p.*, archived_at > last AS archived FROM (
		SELECT name, label, next_seq, version, archived_at,
		CASE WHEN ?4 THEN (SELECT count(*) FROM messages m WHERE m.id BETWEEN c.id << 32 AND c.id << 32 | 4294967295 AND deleted_at IS NULL) ELSE 0 END AS messages,
		coalesce((SELECT said_at FROM messages m WHERE m.id BETWEEN c.id << 32 AND c.id << 32 | 4294967295
			AND deleted_at IS NULL ORDER BY m.id DESC LIMIT 1), 0) AS last FROM conversations c
		WHERE instr(lower(name || ' ' || label), lower(?1)) > 0 AND substr(name, 1, length(?5)) = ?5 AND `+inUse+`) p) q
		WHERE ?6 = '' OR archived = (?6 = 'yes') ORDER BY last DESC, name LIMIT ?2 OFFSET ?3`,
		f.Words, limitOf(f.Limit), max(f.Offset, 0), f.Limit < 0, prefix, f.Archived)
	if err == nil && len(page) == 0 && f.Offset > 0 { // beyond the end no row has the total
		f.Limit = 1
		f.Offset = 0
		_, total, err = PlacesOf(ctx, s, f)
	}
	return page, total, Fail("list conversations", err)
}
