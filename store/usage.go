// Model usage in tokens, by conversation and day.

package store

import (
	"context"
	"database/sql"
	"time"

	"cairn/llm"
)

// The purposes of a request to a model.
const (
	ForTurn    = "turn"    // an answer to people, and the tools on the way
	ForSummary = "summary" // compactions and recaps
)

// Usage is the use of one model on one day, in one conversation or in several.
type Usage struct {
	Conversation string // its name; not needed for writing
	Day          string // 2026-11-22, in the zone of the settings
	Kind         string // ForTurn or ForSummary
	Model        string

	Requests                       int64 // those the server counted
	Input, Cached, Written, Output int64 // tokens; Cached and Written are parts of Input
}

// Add adds one request.
func (u *Usage) Add(one llm.Usage) {
	u.Requests++
	u.Input += int64(one.Prompt)
	u.Cached += int64(one.Cached)
	u.Written += int64(one.Written)
	u.Output += int64(one.Completion)
}

// AddAll adds the numbers of another entry.
func (u *Usage) AddAll(other Usage) {
	u.Requests += other.Requests
	u.Input += other.Input
	u.Cached += other.Cached
	u.Written += other.Written
	u.Output += other.Output
}

// Day returns the day of a time, as rows name it.
func Day(t time.Time) string { return t.Local().Format(time.DateOnly) }

// AddUsage adds to the usage of the conversation's models.
func (turns Turns) AddUsage(ctx context.Context, all []Usage) error {
	return turns.c.Update(ctx, "write usage", func(tx *Tx) error {
		turns.c.addUsage(tx, all)
		return nil
	})
}

func (c *Conversation) addUsage(tx *Tx, all []Usage) {
	for _, u := range all {
		tx.Do(`INSERT INTO usage (conversation, day, kind, model, requests, input, cached, written, output)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, input = input + excluded.input,
			cached = cached + excluded.cached, written = written + excluded.written, output = output + excluded.output`,
			c.id, u.Day, u.Kind, u.Model, u.Requests, u.Input, u.Cached, u.Written, u.Output)
	}
}

const usageRows = `SELECT c.name, u.day, u.kind, u.model, u.requests, u.input, u.cached, u.written, u.output
	FROM usage u JOIN conversations c ON c.id = u.conversation `

// Usage returns the use of models since a day, inclusive, oldest first; if since is empty, of all
// time.
func (s *Store) Usage(ctx context.Context, since string) ([]Usage, error) {
	all, err := selectAlone(ctx, s, scanUsage, usageRows+"WHERE u.day >= ? ORDER BY u.day, c.name, u.kind DESC, u.model", since)
	return all, Fail("read usage", err)
}

// Usage returns the use of the conversation's models, oldest first.
func (turns Turns) Usage(ctx context.Context) ([]Usage, error) {
	all, err := selectAlone(ctx, turns.c.store, scanUsage, usageRows+"WHERE u.conversation = ? ORDER BY u.day, u.kind DESC, u.model", turns.c.id)
	return all, turns.c.Fail("read usage", err)
}

func scanUsage(rows *sql.Rows, u *Usage) error {
	return rows.Scan(&u.Conversation, &u.Day, &u.Kind, &u.Model, &u.Requests, &u.Input, &u.Cached, &u.Written, &u.Output)
}

// Posted reports whether a reply with that ID was posted in any conversation.
func (s *Store) Posted(ctx context.Context, reply string) (posted bool, err error) {
	err = s.View(ctx, func(tx *Tx) error {
		posted = Exists(tx, "SELECT 1 FROM outbox WHERE reply = ?", reply)
		return nil
	})
	return posted, Fail("look for reply "+reply, err)
}

// shown is a summary, and which messages were written while it replaced its own.
type shown struct {
	from, to    int64 // seqs that it covers
	tokens      int64
	since, till int64 // seqs: including the first, before the last
}

// Saved estimates how many tokens summaries kept out of the requests of turns: for each request
// made while a summary was shown, the tokens of the messages it covers, of each at most perMessage,
// minus its own. A request is counted as an assistant message. Undone summaries are ignored.
func (turns Turns) Saved(ctx context.Context, perMessage int) (int64, error) {
	return View(ctx, turns.c, "estimate what summaries saved", func(tx *Tx) (saved int64, err error) {
		summaries, err := turns.c.shownSummaries(tx)
		if err != nil || len(summaries) == 0 {
			return 0, err
		}
		var tokens, requests sums
		low, high := turns.c.RowRange(1, MaxSeq)
		err = Each(tx, func(rows *sql.Rows) error {
			var seq, n, request int64
			err := rows.Scan(&seq, &request, &n)
			tokens.add(seq, n)
			requests.add(seq, request)
			return err
		}, "SELECT seq, role = 'assistant', min(tokens, ?) FROM messages WHERE id BETWEEN ? AND ? ORDER BY id", perMessage, low, high)
		for _, s := range summaries {
			each := tokens.before(s.to+1) - tokens.before(s.from) - s.tokens
			saved += max(each, 0) * max(requests.before(s.till)-requests.before(s.since), 0)
		}
		return saved, err
	})
}

// sums has, for each seq, the sum of a number over the messages before it.
type sums []int64

// add adds a message's number; messages come in order.
func (s *sums) add(seq, n int64) {
	for int64(len(*s)) <= seq {
		*s = append(*s, s.before(seq))
	}
	*s = append(*s, s.before(seq)+n)
}

func (s sums) before(seq int64) int64 {
	if len(s) == 0 {
		return 0
	}
	return s[min(seq, int64(len(s)-1))]
}

// shownSummaries returns the summaries that were ever shown in their session, until their
// replacement was, or until the session ended.
func (c *Conversation) shownSummaries(tx *Tx) ([]shown, error) {
	return Select(tx, func(rows *sql.Rows, s *shown) error { return rows.Scan(&s.from, &s.to, &s.tokens, &s.since, &s.till) },
		`SELECT k.from_seq, k.to_seq, k.tokens, k.next_seq, min(
			coalesce((SELECT min(o.next_seq) FROM compactions o WHERE o.conversation = k.conversation AND o.version = k.ended_with), ?1),
			coalesce((SELECT g.to_seq + 1 FROM sessions g WHERE g.conversation = k.conversation AND k.from_seq BETWEEN g.from_seq AND g.to_seq), ?1))
		FROM compactions k WHERE k.conversation = ?2 AND k.version IS NOT NULL AND k.next_seq IS NOT NULL
		AND k.state IN ('applied', 'rolled_up', 'replaced')`, MaxSeq, c.id)
}
