// Search: memories and messages that speak of what a query asks.

package memory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
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
		for _, id := range chosen {
			m, err := readMemory(tx, id)
			if err != nil {
				return err
			}
			found = append(found, m)
		}
		return nil
	})
	return found, total, err
}

// newest returns the numbers of all that f chooses without a query.
func newest(tx *sql.Tx, f Filter, in scope) (order []int64, err error) {
	within, args := in.where()
	args = append(args, f.State, f.Kind, f.Kind, since(f.Since))
	err = each(tx, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		order = append(order, id)
		return err
	}, "SELECT id FROM memories WHERE "+within+" AND state = ? AND (kind = ? OR ? = '') AND said_at >= ? ORDER BY said_at DESC, id DESC", args...)
	return order, err
}

// ranked returns the numbers of all that f chooses by its query, the best first.
func ranked(tx *sql.Tx, f Filter, in scope) ([]int64, error) {
	scores, err := scoreMemories(tx, f.Query, in)
	if err != nil {
		return nil, err
	}
	look, err := tx.Prepare("SELECT id, said_at, importance FROM memories WHERE id = ? AND state = ? AND (kind = ? OR ? = '') AND said_at >= ?")
	if err != nil {
		return nil, err
	}
	type candidate struct {
		id, saidAt int64
		importance float64
	}
	var chosen []candidate
	for id := range scores {
		var m candidate
		err := look.QueryRow(id, f.State, f.Kind, f.Kind, since(f.Since)).Scan(&m.id, &m.saidAt, &m.importance)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, m)
	}
	slices.SortFunc(chosen, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(scores[y.id], scores[x.id]), cmp.Compare(y.importance, x.importance),
			cmp.Compare(y.saidAt, x.saidAt), cmp.Compare(y.id, x.id))
	})
	order := make([]int64, len(chosen))
	for i, m := range chosen {
		order[i] = m.id
	}
	return order, nil
}

// scoreMemories weighs the memories in which a word of query stands.
func scoreMemories(tx *sql.Tx, query string, in scope) (map[int64]float64, error) {
	within, bounds := in.where()
	x := index{
		count: func(term string) (df int, err error) {
			err = tx.QueryRow("SELECT count(*) FROM memory_terms WHERE term = ? AND "+within, append([]any{term}, bounds...)...).Scan(&df)
			return df, err
		},
		postings: func(term string) ([]posting, error) {
			return readPostings(tx, "SELECT memory, tf, length FROM memory_terms WHERE term = ? AND "+within, append([]any{term}, bounds...)...)
		},
		// No posting of one document: all are wanted, for their total is told.
	}
	err := tx.QueryRow("SELECT count(*) FROM memories WHERE state = 'active' AND "+within, bounds...).Scan(&x.documents)
	if err != nil {
		return nil, err
	}
	return x.score(queryTerms(query), math.MaxInt)
}

func readPostings(tx *sql.Tx, query string, args ...any) ([]posting, error) {
	var list []posting
	err := each(tx, func(rows *sql.Rows) error {
		var p posting
		err := rows.Scan(&p.document, &p.tf, &p.length)
		list = append(list, p)
		return err
	}, query, args...)
	return list, err
}
