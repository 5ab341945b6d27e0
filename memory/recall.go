// Recall: the messages that answer a question.

package memory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"sort"
	"time"

	"cairn/compactor"
)

// Found is a message that recall found.
type Found struct {
	compactor.Message
	Score float64 // the higher the better; comparable within one answer only
	Parts []Part  // what the score is the sum of

	lookups []lookup // what was looked up
}

// Part is what one thing added to a score, or took away from it: words, neighbours,
// speaker, session, date, …
type Part struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// What a message's score is multiplied by, see also the weights in rank.go.
const (
	bySpeaker = 1.8  // said by whom the question is about
	thatAsks  = 0.8  // a question itself
	naming    = 1.2  // it names something: a title, a place, somebody who is no member
	halved    = 0.5  // said by the bot: its answers repeat what people said, and it is their words that are asked for
	onDate    = 3.0  // said in the time that the question names
	nearDate  = 2.0  // or within a week after: people tell later what they did
	withDate  = 1.5  // or it mentions that time
	withTime  = 2.0  // the question is when, and it tells some time
	itself    = 0.25 // what a message adds that has all the terms itself, not its neighbours
	longer    = 0.2  // what more words add, by their logarithm
	inSession = 1.0  // what the best stretch of talk adds

	sessionBest = 3             // messages of a stretch that tell how good it is
	silence     = 6 * time.Hour // ends a stretch of talk
)

// candidates is how many messages are looked at closely.
const candidates = 100

// Recall returns the messages that speak of what q asks, the best first; of equally
// good ones the newer first. A message is found by its own words and by those said
// just before and after it. What the bot found in its own memory is not found again.
// What a question costs is bounded, however long the conversation is.
func (c *Conversation) Recall(ctx context.Context, q Question) (found []Found, err error) {
	if q.Limit <= 0 || q.Before < 0 {
		return nil, nil
	}
	q.Limit = min(q.Limit, maxFound)
	err = c.store.view(ctx, func(tx *transaction) error {
		found, err = c.recall(tx, q)
		return err
	})
	if err != nil {
		return nil, c.fail("recall", err)
	}
	return found, nil
}

func (c *Conversation) recall(tx *transaction, q Question) ([]Found, error) {
	p := postings{tx: tx, id: c.id, from: 1, before: q.Before}
	var next int64
	if err := tx.QueryRow("SELECT next_seq FROM conversations WHERE id = ?", c.id).Scan(&next); err != nil {
		return nil, err
	}
	if p.before == 0 || p.before > next {
		p.before = next
	}
	p.n = int(p.before - 1)
	if !q.Since.IsZero() {
		from, err := c.firstSince(tx, q.Since, p.before)
		if err != nil {
			return nil, err
		}
		p.from = from
	}
	i := q.inquiry()
	lookups, err := i.lookups(p)
	if err != nil {
		return nil, err
	}
	traces, err := p.traces(lookups)
	if err != nil {
		return nil, err
	}
	all := scores(traces, p.from, p.before-1)
	closer, err := c.candidates(tx, all, max(candidates, 4*q.Limit), q.Since)
	if err != nil {
		return nil, err
	}
	if err := p.complete(traces, seqsOf(closer)); err != nil {
		return nil, err
	}
	present := speakersOf(closer)
	for n := range closer {
		closer[n].weigh(traces, i, present)
	}
	if i.single { // nobody asks a question with one word: what has it is looked for
		closer = slices.DeleteFunc(closer, func(m candidate) bool { return !slices.ContainsFunc(m.parts, isOwn) })
	}
	sessions(closer)
	slices.SortFunc(closer, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.seq, x.seq))
	})
	return c.whole(tx, closer[:min(q.Limit, len(closer))], lookups)
}

// isOwn tells of a part of a score that it is for words of the message itself.
func isOwn(p Part) bool { return p.Name == "words" }

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

// whole reads the messages that were chosen.
func (c *Conversation) whole(tx *transaction, chosen []candidate, lookups []lookup) ([]Found, error) {
	var found []Found
	for _, m := range chosen {
		said, err := c.message(tx, m.seq)
		if err != nil {
			return nil, err
		}
		found = append(found, Found{Message: said, Score: m.score, Parts: m.parts, lookups: lookups})
	}
	return found, nil
}
