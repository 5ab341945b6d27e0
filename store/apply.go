// Commits a change that package transcript computed, unless the stored state has changed since.

package store

import (
	"context"
	"fmt"
	"slices"

	"cairn/transcript"
)

// Commit writes a change of s, the state that was loaded or committed last, and returns the
// head as committed. transcript.ErrStale: the stored state differs from s, as far as the
// change depends on it, and nothing has changed.
func (cs Compactions) Commit(ctx context.Context, s *transcript.State, change transcript.Change) (transcript.Head, error) {
	return Update(ctx, cs.c, "change the head", func(tx *Tx) (transcript.Head, error) {
		if err := cs.c.current(tx, s, change); err != nil {
			return transcript.Head{}, err
		}
		return cs.c.write(tx, s, change), nil
	})
}

// current returns transcript.ErrStale if the head, a row to apply, or the messages to hide differ
// on disk from s.
func (c *Conversation) current(tx *Tx, s *transcript.State, change transcript.Change) error {
	var version, next int64
	tx.Row("SELECT version, next_seq FROM conversations WHERE id = ?", c.id).Scan(&version, &next)
	if version != s.HeadVersion {
		return fmt.Errorf("the head is of version %d, not %d: %w", version, s.HeadVersion, transcript.ErrStale)
	}
	if start := change.Marks.SessionStart; start != s.SessionStart && start != next {
		return fmt.Errorf("a session begins at %d, and the next message is %d: %w", start, next, transcript.ErrStale)
	}
	for _, row := range change.Summaries {
		if row.State != transcript.Applied {
			continue
		}
		if slices.Contains(transcript.IDs(s.Prepared), row.ID) {
			if !Exists(tx, "SELECT 1 FROM compactions WHERE id = ? AND conversation = ? AND state = 'prepared'", row.ID, c.id) {
				return fmt.Errorf("summary %d is not prepared: %w", row.ID, transcript.ErrStale)
			}
		}
		for _, gap := range row.Gaps(s.Summaries) {
			if known, is := s.Messages.Count(gap), c.between(tx, gap).Messages; known != is {
				return fmt.Errorf("%d messages are verbatim from %d to %d, not %d: %w", is, gap.From, gap.To, known, transcript.ErrStale)
			}
		}
	}
	return nil
}

// Ended returns those of the once prepared rows that are no longer prepared, in their current
// state.
func (cs Compactions) Ended(ctx context.Context, rows []int64) ([]transcript.Summary, error) {
	ended, err := cs.Rows(ctx, rows)
	return slices.DeleteFunc(ended, func(row transcript.Summary) bool { return row.State == transcript.Prepared }), err
}

// Stretches counts the messages of spans, for transcript.State.Cover.
func (cs Compactions) Stretches(ctx context.Context, spans []transcript.Span) ([]transcript.Stretch, error) {
	return read(ctx, cs.c, "count messages behind summaries", func(tx *Tx) (found []transcript.Stretch) {
		for _, sp := range spans {
			found = append(found, cs.c.between(tx, sp))
		}
		return found
	})
}

// between counts the messages of a span.
func (c *Conversation) between(tx *Tx, sp transcript.Span) transcript.Stretch {
	low, high := c.RowRange(sp.From, sp.To)
	n := transcript.Stretch{Span: sp}
	tx.Row(`SELECT count(*),
		coalesce((SELECT said_at FROM messages WHERE id BETWEEN ?1 AND ?2 AND deleted_at IS NULL ORDER BY id LIMIT 1), 0),
		coalesce((SELECT said_at FROM messages WHERE id BETWEEN ?1 AND ?2 AND deleted_at IS NULL ORDER BY id DESC LIMIT 1), 0)
		FROM messages WHERE id BETWEEN ?1 AND ?2 AND deleted_at IS NULL`, low, high).Scan(&n.Messages, local(&n.First), local(&n.Last))
	return n
}
