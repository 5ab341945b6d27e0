// Search: memories and messages that speak of what a query asks.

package memory

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Filter chooses memories.
type Filter struct {
	Conversation string    // its name; empty: all conversations
	Query        string    // words to search for; empty: all memories, the newest first
	Kind         string    // empty: all kinds
	State        string    // empty: active
	Since        time.Time // only those said then or later; zero: all
	Limit        int       // how many at most; 0 or less: all
	Offset       int       // how many of them are left out at the beginning
}

// States are the states of a memory.
var States = []string{"active", "superseded", "forgotten", "replaced"}

// Memories returns the memories that f chooses, and how many there are without
// Limit and Offset. With a query they are ranked by its words, then by importance,
// then the newer first. ErrNotFound: there is no such conversation.
func (s *Store) Memories(ctx context.Context, f Filter) (found []Memory, total int, err error) {
	in := everywhere
	if f.Conversation != "" {
		c, err := s.Find(ctx, f.Conversation)
		if err != nil {
			return nil, 0, err
		}
		in = scope{c.id}
	}
	found, total, err = s.memories(ctx, f, in)
	if err != nil {
		return nil, 0, fmt.Errorf("search memories: %w", err)
	}
	return found, total, nil
}

// SearchMemories returns the conversation's memories that speak of query, the best
// first, at most limit; with an empty query the newest.
func (c *Conversation) SearchMemories(ctx context.Context, query string, limit int) ([]Memory, error) {
	if limit <= 0 {
		return nil, nil
	}
	found, _, err := c.store.memories(ctx, Filter{Query: query, Limit: limit}, scope{c.id})
	if err != nil {
		return nil, c.fail("search memories", err)
	}
	return found, nil
}

// memories searches in a scope.
func (s *Store) memories(ctx context.Context, f Filter, in scope) (found []Memory, total int, err error) {
	if f.State == "" {
		f.State = "active"
	}
	if !slices.Contains(States, f.State) {
		return nil, 0, fmt.Errorf("there is no state %q: use one of %s", f.State, strings.Join(States, ", "))
	}
	if f.Kind != "" {
		if _, err := kindIndex(f.Kind); err != nil {
			return nil, 0, err
		}
	}
	err = s.view(ctx, func(tx *sql.Tx) error {
		choose := newest
		if strings.TrimSpace(f.Query) != "" {
			choose = ranked
		}
		chosen, err := choose(tx, f, in)
		if err != nil {
			return err
		}
		total = len(chosen)
		chosen = chosen[min(max(f.Offset, 0), total):]
		if f.Limit > 0 {
			chosen = chosen[:min(f.Limit, len(chosen))]
		}
		for _, w := range chosen {
			m, err := readMemory(tx, w.id)
			if err != nil {
				return err
			}
			m.Score, m.Parts = w.score, w.parts
			found = append(found, m)
		}
		return nil
	})
	return found, total, err
}

// newest chooses without a query.
func newest(tx *sql.Tx, f Filter, in scope) (order []weighed, err error) {
	within, args := in.where()
	args = append(args, f.State, f.Kind, f.Kind, earliest(f.Since))
	err = each(tx, func(rows *sql.Rows) error {
		var m weighed
		err := rows.Scan(&m.id)
		order = append(order, m)
		return err
	}, "SELECT id FROM memories WHERE "+within+" AND state = ? AND (kind = ? OR ? = '') AND said_at >= ? ORDER BY said_at DESC, id DESC", args...)
	return order, err
}

// earliest is the time from which on what was said counts.
func earliest(since time.Time) int64 {
	if since.IsZero() {
		return math.MinInt64
	}
	return since.UnixMilli()
}
