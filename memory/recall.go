// Recall: the messages that answer a question.

package memory

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"cairn/compactor"
	"cairn/llm"
)

// Question is what somebody wants to know of what was said.
type Question struct {
	Text   string
	Asker  string    // who asks, by name: "I" in Text is them; empty: nobody knows
	Limit  int       // how many messages at most; 0 or less: none
	Before int64     // only messages with a smaller seq; 0: all
	Since  time.Time // only messages said then or later; zero: all
	Now    time.Time // when it is asked: "last week" is the one before; zero: now
}

// Found is a message that recall found.
type Found struct {
	compactor.Message
	Score float64 // the higher the better; comparable within one answer only
	Parts []Part  // what the score is the sum of
}

// Part is what one thing added to a score, or took away from it: words, neighbours,
// speaker, session, date, …
type Part struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Recall returns the messages that speak of what q asks, the best first; of equally
// good ones the newer first. What the bot found in its own memory is not found
// again, and its answers count half: they often repeat what people said, and it is
// their words that are asked for.
func (c *Conversation) Recall(ctx context.Context, q Question) (found []Found, err error) {
	before := q.Before
	if before == 0 {
		before = maxSeq + 1
	}
	limit := max(q.Limit, 0)
	err = c.store.view(ctx, func(tx *sql.Tx) error {
		x := index{
			count: func(term string) (df int, err error) {
				err = tx.QueryRow("SELECT count(*) FROM message_terms WHERE conversation = ? AND term = ? AND seq < ?", c.id, term, before).Scan(&df)
				return df, err
			},
			postings: func(term string) ([]posting, error) {
				return readPostings(tx, "SELECT seq, tf, length FROM message_terms WHERE conversation = ? AND term = ? AND seq < ?", c.id, term, before)
			},
			posting: func(term string, seq int64) ([]posting, error) {
				return readPostings(tx, "SELECT seq, tf, length FROM message_terms WHERE conversation = ? AND term = ? AND seq = ?", c.id, term, seq)
			},
		}
		var next int64
		if err := tx.QueryRow("SELECT next_seq FROM conversations WHERE id = ?", c.id).Scan(&next); err != nil {
			return err
		}
		x.documents = int(max(min(next, before)-1, 0))
		candidates := 3 * limit // enough that answers may sink
		scores, err := x.score(queryTerms(q.Text), candidates)
		if err != nil {
			return err
		}
		for _, seq := range best(scores, candidates) {
			said, err := c.messages(tx, seq, seq, "AND said_at >= ?", since(q.Since))
			if err != nil {
				return err
			}
			for _, m := range said {
				f := Found{Message: m, Score: scores[seq], Parts: []Part{{"words", scores[seq]}}}
				if m.Role == llm.RoleAssistant {
					f.Score /= 2
					f.Parts = append(f.Parts, Part{"assistant", -f.Score})
				}
				found = append(found, f)
			}
		}
		return nil
	})
	if err != nil {
		return nil, c.fail("recall", err)
	}
	slices.SortStableFunc(found, func(x, y Found) int { return cmp.Compare(y.Score, x.Score) })
	return found[:min(limit, len(found))], nil
}

// since is the first millisecond that counts.
func since(t time.Time) int64 {
	if t.IsZero() {
		return -1 << 62
	}
	return t.UnixMilli()
}
