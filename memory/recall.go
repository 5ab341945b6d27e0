// Recall: the messages that answer a question.

package memory

import (
	"context"
	"database/sql"
	"errors"
	"sort"
	"strings"
	"time"

	"cairn/chat"
	"cairn/memory/search"
	"cairn/words"
)

// Question is what somebody wants to know of what was said.
type Question struct {
	Text   string
	Asker  string    // who asks, by name: "I" in Text is them; empty: nobody knows
	Limit  int       // how many messages at most, 1000 in any case; 0 or less: none
	Before int64     // only messages with a smaller seq; 0: all
	Since  time.Time // only messages said then or later; zero: all. It is found as if they stood in that order
	Now    time.Time // when it is asked: "last week" is the one before; zero: now
}

// Asks reports whether the text asks something. On recorded conversations that holds for
// all questions about the past, and for three of ten messages: for the others nothing
// needs to be recalled unasked.
func (q Question) Asks() bool { return words.IsQuestion(q.Text) }

// Found is a message that recall found.
type Found struct {
	chat.Message
	Score float64 // the higher the better; comparable within one answer only
	Parts []Part  // what the score is the sum of

	query *search.Query
}

// Part is what one thing added to a score, or took away from it.
type Part = search.Part

// maxFound is how many messages one question finds at most.
const maxFound = 1000

// Recall returns the messages that speak of what q asks, the best first; of equally
// good ones the newer first. A message is found by its own words and by those said
// just before and after it. What the bot found in its own memory is not found again.
// What a question costs is bounded, however long the conversation is.
func (c *Conversation) Recall(ctx context.Context, q Question) (found []Found, err error) {
	if q.Limit <= 0 || q.Before < 0 {
		return nil, nil
	}
	q.Limit = min(q.Limit, maxFound)
	err = c.view(ctx, "recall", func(tx *transaction) error {
		found, err = c.recall(tx, q)
		return err
	})
	return found, err
}

func (c *Conversation) recall(tx *transaction, q Question) (found []Found, err error) {
	var next int64
	if err := tx.QueryRow("SELECT next_seq FROM conversations WHERE id = ?", c.id).Scan(&next); err != nil {
		return nil, err
	}
	from, before := int64(1), next
	if q.Before > 0 {
		before = min(q.Before, next)
	}
	if !q.Since.IsZero() {
		if from, err = c.firstSince(tx, q.Since, before); err != nil {
			return nil, err
		}
	}
	if q.Now.IsZero() {
		q.Now = time.Now()
	}
	query := search.Parse(q.Text, q.Asker, q.Now.Local())
	hits, err := query.Messages(c.messageIndex(tx, before, q.Since), from, before-1, q.Limit)
	if err != nil {
		return nil, err
	}
	for _, hit := range hits {
		m, err := c.message(tx, hit.Seq)
		if err != nil {
			return nil, err
		}
		found = append(found, Found{Message: m, Score: hit.Total, Parts: hit.Parts, query: query})
	}
	return found, nil
}

// firstSince is the seq from which on messages before a seq were said at a time or
// later. They stand in the order in which they were said, nearly: what was imported
// out of order may be passed over, and what is too old is left out later.
func (c *Conversation) firstSince(tx *transaction, since time.Time, before int64) (int64, error) {
	var failed error
	n := sort.Search(int(before-1), func(n int) bool {
		low, high := c.rows(int64(n)+1, before-1)
		var saidAt int64
		err := tx.QueryRow("SELECT said_at FROM messages WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 1", low, high).Scan(&saidAt)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			failed = err
		}
		return err != nil || saidAt >= since.UnixMilli()
	})
	return int64(n) + 1, failed
}

// Passage is the part of the message that speaks most of what was asked, at most so many
// characters of its text, and what came with it: names, captions, and of the file that
// speaks most of it as many characters of its contents. What is left out is marked by "…".
func (f Found) Passage(most int) string {
	text, _ := f.query.Passage(f.Text, most)
	parts := []string{text}
	best, at := 0.0, -1
	var contents string
	for i, a := range f.Attachments {
		parts = append(parts, a.Words())
		if part, worth := f.query.Passage(a.Text, most); worth > best {
			best, at, contents = worth, i, part
		}
	}
	if at >= 0 {
		parts[1+at] += "\n" + contents
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}
