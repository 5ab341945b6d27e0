// What the bot has learned about models by using them, and their usage in tokens, by conversation and day.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"cairn/llm"
	"cairn/llm/prices"
	"cairn/transcript"
)

// The purposes of a request to a model.
const (
	ForTurn    = "turn"    // an answer to people, the tools on the way, and transcripts of voice
	ForSummary = "summary" // compactions and recaps

	ForEmbedding = "embedding" // vectors of messages, memories and questions
)

// Usage is the use of one model on one day, in one conversation or in several.
type Usage struct {
	Conversation string // its name; not needed for writing
	Day          string // 2026-11-22, in the zone of the settings
	Kind         string // ForTurn, ForSummary or ForEmbedding
	Model        string
	Long         bool // the prompts were so long that the model cost more, see prices.Price

	Requests int64 // those the server counted
	prices.Tokens

	By []string // platform ids of the people who asked for it, for writing; nil: a budget for each person does not count it
}

// Day returns the day of a time, as rows name it.
func Day(t time.Time) string { return t.Local().Format(time.DateOnly) }

// AddUsage adds to the usage of the conversation's models.
func (turns Turns) AddUsage(ctx context.Context, all []Usage) error {
	return turns.c.Update(ctx, "write usage", func(tx *Tx) { turns.addUsage(tx, all) })
}

func (turns Turns) addUsage(tx *Tx, all []Usage) {
	for _, u := range all {
		tx.do(`INSERT INTO usage (conversation, day, kind, model, long, requests, input, cached, written, output)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (conversation, day, kind, model, long) DO UPDATE SET requests = usage.requests + excluded.requests, input = usage.input + excluded.input,
			cached = usage.cached + excluded.cached, written = usage.written + excluded.written, output = usage.output + excluded.output`,
			turns.c.id, u.Day, u.Kind, u.Model, u.Long, u.Requests, u.Input, u.Cached, u.Written, u.Output)
		addPersonUsage(tx, u)
	}
}

const usageRows = `SELECT c.name, u.day, u.kind, u.model, u.long, u.requests, u.input, u.cached, u.written, u.output
	FROM usage u JOIN conversations c ON c.id = u.conversation `

// Usage returns the use of models since a day, inclusive, oldest first; if since is empty, of all time.
func (s *Store) Usage(ctx context.Context, since string) ([]Usage, error) {
	all, err := selectAlone(ctx, s, scanUsage, usageRows+"WHERE u.day >= ? ORDER BY u.day, c.name, u.kind DESC, u.model, u.long", since)
	return all, Fail("read usage", err)
}

// Usage returns the use of the conversation's models, oldest first.
func (turns Turns) Usage(ctx context.Context) ([]Usage, error) {
	all, err := selectAlone(ctx, turns.c.store, scanUsage, usageRows+"WHERE u.conversation = ? ORDER BY u.day, u.kind DESC, u.model, u.long", turns.c.id)
	return all, turns.c.Fail("read usage", err)
}

func scanUsage(rows *sql.Rows, u *Usage) error {
	return rows.Scan(&u.Conversation, &u.Day, &u.Kind, &u.Model, &u.Long, &u.Requests, &u.Input, &u.Cached, &u.Written, &u.Output)
}

// TurnUsage is the usage of the window at the last request of a turn.
type TurnUsage struct {
	Seq  int64 // of the answer
	Time time.Time
	transcript.Sent
}

// Usages returns the usage of the window at the turns answered since a time and before the message with a seq (0: all), oldest
// first: at most the newest limit, 0: all. It is unknown for turns before schema version 8.
func (turns Turns) Usages(ctx context.Context, since time.Time, before int64, limit int) (all []TurnUsage, err error) {
	if before <= 0 {
		before = MaxSeq
	}
	low, high := turns.c.rowRange(1, before-1)
	all, err = selectAlone(ctx, turns.c.store, func(rows *sql.Rows, u *TurnUsage) error {
		return rows.Scan(&u.Seq, utcInto(&u.Time), &u.Window, &u.Used, &u.Counted, &u.Estimated, &u.Context, &u.Factor)
	}, `SELECT m.seq, m.said_at, u.window, u.used, u.counted, u.estimated, u.context, u.factor
		FROM turn_usage u JOIN messages m ON m.id = u.id WHERE u.id BETWEEN ? AND ? AND m.said_at >= ?
		ORDER BY u.id DESC LIMIT ?`, low, high, max(since.UnixMilli(), 0), cmp.Or(limit, noLimit))
	slices.Reverse(all)
	return all, turns.c.Fail("read the usage of turns", err)
}

// LastModel returns the name of the model that answered last, and the usage of its window. The name is "" if it is unknown:
// no model answered last, or its provider counts no tokens.
func (turns Turns) LastModel(ctx context.Context) (name string, last TurnUsage, err error) {
	answered, err := turns.Usages(ctx, time.Time{}, 0, 1)
	if err != nil || len(answered) == 0 || answered[0].Counted == 0 {
		return "", last, err
	}
	name, err = View(ctx, turns.c, "read who answered last", func(tx *Tx) string {
		return getValue[string](tx, `SELECT coalesce(nullif(c.counted_by, ''),
				(SELECT model FROM usage WHERE conversation = c.id AND kind = 'turn' ORDER BY day DESC, requests DESC LIMIT 1), '')
			FROM conversations c WHERE c.id = ?`, turns.c.id)
	})
	return name, answered[0], err
}

// Posted reports whether a reply with that ID was posted in any conversation.
func (s *Store) Posted(ctx context.Context, reply string) (posted bool, err error) {
	err = s.look(ctx, oneRead, func(tx *Tx) { posted = exists(tx, "SELECT 1 FROM outbox WHERE reply = ?", reply) })
	return posted, Fail("look for reply "+reply, err)
}

// Saved estimates how many tokens summaries kept out of the requests of turns: for each answer written
// while a summary was shown, the tokens of the messages it covers, of each at most perMessage, minus its
// own. Undone summaries do not count.
func (turns Turns) Saved(ctx context.Context, perMessage int) (int64, error) {
	return View(ctx, turns.c, "estimate what summaries saved", func(tx *Tx) int64 {
		return getValue[int64](tx, saved, turns.c.id, perMessage)
	})
}

// saved multiplies, for each summary of conversation ?1, the tokens that it saved with the answers from seq since on and before
// till, while it was shown. upto has the sums at the end of each message.
const saved = `WITH upto AS MATERIALIZED (
		SELECT seq, sum(CASE WHEN tokens > ?2 THEN ?2 ELSE tokens END) OVER (ORDER BY id) AS tokens,
			sum(CASE WHEN role = 'assistant' THEN 1 ELSE 0 END) OVER (ORDER BY id) AS answers
		FROM messages WHERE ` + inConversation + `),
	ends AS (SELECT k.from_seq, k.to_seq, k.tokens, k.next_seq AS since,
			coalesce((SELECT min(o.next_seq) FROM compactions o WHERE o.conversation = ?1 AND o.version = k.ended_with), c.next_seq) AS ended,
			coalesce((SELECT s.to_seq + 1 FROM sessions s WHERE s.conversation = ?1 AND k.from_seq BETWEEN s.from_seq AND s.to_seq), c.next_seq) AS session
		FROM compactions k JOIN conversations c ON c.id = k.conversation WHERE k.conversation = ?1 AND k.version IS NOT NULL
			AND k.next_seq IS NOT NULL AND k.state IN ('applied', 'rolled_up', 'replaced')),
	shown AS (SELECT from_seq, to_seq, tokens, since, CASE WHEN ended < session THEN ended ELSE session END AS till FROM ends),
	gains AS (SELECT coalesce(t.tokens, 0) - coalesce(f.tokens, 0) - shown.tokens AS tokens, coalesce(e.answers, 0) - coalesce(b.answers, 0) AS answers
		FROM shown LEFT JOIN upto f ON f.seq = from_seq - 1 LEFT JOIN upto t ON t.seq = to_seq
		LEFT JOIN upto b ON b.seq = since - 1 LEFT JOIN upto e ON e.seq = till - 1)
	SELECT CAST(coalesce(sum(tokens * answers), 0) AS BIGINT) FROM gains WHERE tokens > 0 AND answers > 0`

// factTTL is how long a limit or a refusal is trusted: servers get reconfigured, and one request shows whether it still holds.
const factTTL = 7 * 24 * time.Hour

// List returns the known facts about each model, by its name and server.
func (ms Models) List(ctx context.Context) (map[string]llm.Facts, error) {
	known := make(map[string]llm.Facts)
	err := ms.store.View(ctx, func(tx *Tx) {
		eachRow(tx, func(rows *sql.Rows) error {
			var name string
			var f llm.Facts
			var learned time.Time
			err := rows.Scan(&name, &f.Window, &f.Factor, &f.Scale, &f.RefusesTools, &f.RefusesImages,
				&f.Wire, &f.WantsReasoning, &f.RefusesForced, utcInto(&learned))
			if err != nil {
				return err
			}
			if time.Since(learned).Abs() > factTTL { // one from the future was learned while the clock was wrong
				f = llm.Facts{Factor: f.Factor, Scale: f.Scale}
			}
			known[name] = f
			return nil
		}, `SELECT name, "window", factor, scale, refuses_tools, refuses_images, wire, wants_reasoning, refuses_forced, updated_at FROM models`)
	})
	return known, Fail("read what is known of models", err)
}

// Keep stores what is now known about a model.
func (ms Models) Keep(ctx context.Context, model string, f llm.Facts) error {
	if f.Factor == 0 { // not measured
		f.Factor = 1
		f.Scale = 100
	}
	// updated_at is the age of the limit and the refusals, not of the factor.
	return ms.store.set(ctx, "keep "+model, `
INSERT INTO models (name, "window", factor, scale, refuses_tools, refuses_images, wire, wants_reasoning, refuses_forced, updated_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, coalesce((SELECT updated_at FROM models
  WHERE (name, "window", refuses_tools, refuses_images, wire, wants_reasoning, refuses_forced) = (?1, ?2, ?5, ?6, ?7, ?8, ?9)
  AND abs(updated_at - ?10) < ?11), ?10))
ON CONFLICT (name) DO UPDATE SET "window" = excluded."window", factor = excluded.factor, scale = excluded.scale, refuses_tools = excluded.refuses_tools,
  refuses_images = excluded.refuses_images, wire = excluded.wire, wants_reasoning = excluded.wants_reasoning,
  refuses_forced = excluded.refuses_forced, updated_at = excluded.updated_at`,
		model, f.Window, f.Factor, f.Scale, f.RefusesTools, f.RefusesImages, f.Wire, f.WantsReasoning, f.RefusesForced,
		nowMillis(), factTTL.Milliseconds())
}

// lastCount returns the last count, if the head it belongs to is still the current one.
func lastCount(tx *Tx, conversation int64) (count transcript.Count) {
	tx.row("SELECT counted, counted_estimate, counted_by, counted_with FROM conversations WHERE id = ? AND counted > 0 AND counted_with = version", conversation).
		Found(&count.Prompt, &count.Estimate, &count.Model, &count.Version)
	return count
}
