// What the bot has learned about models by using them, and their token counts.

package store

import (
	"context"
	"database/sql"
	"time"

	"cairn/llm"
	"cairn/transcript"
)

// factTTL is how long a limit or a refusal is trusted: servers get reconfigured, and one request
// shows whether it still holds. The factor belongs to the model and does not expire.
const factTTL = 7 * 24 * time.Hour

// List returns the known facts about each model, by its name and server.
func (ms Models) List(ctx context.Context) (map[string]llm.Facts, error) {
	known := make(map[string]llm.Facts)
	err := ms.store.View(ctx, func(tx *Tx) error {
		return Each(tx, func(rows *sql.Rows) error {
			var name string
			var f llm.Facts
			var learned time.Time
			if err := rows.Scan(&name, &f.Window, &f.Factor, &f.Scale, &f.RefusesTools, &f.RefusesImages, &f.Wire, &f.WantsReasoning, &f.RefusesForced, utc(&learned)); err != nil {
				return err
			}
			if time.Since(learned).Abs() > factTTL { // one from the future was learned while the clock was wrong
				f = llm.Facts{Factor: f.Factor, Scale: f.Scale}
			}
			known[name] = f
			return nil
		}, "SELECT name, window, factor, scale, refuses_tools, refuses_images, wire, wants_reasoning, refuses_forced, updated_at FROM models")
	})
	return known, Fail("read what is known of models", err)
}

// Keep stores what is now known about a model.
func (ms Models) Keep(ctx context.Context, model string, f llm.Facts) error {
	if f.Factor == 0 { // not measured
		f.Factor, f.Scale = 1, 100
	}
	// updated_at is the age of the limit and the refusals, not of the factor.
	return ms.store.set(ctx, "keep "+model, `
INSERT INTO models (name, window, factor, scale, refuses_tools, refuses_images, wire, wants_reasoning, refuses_forced, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET factor = excluded.factor, scale = excluded.scale,
  window = excluded.window, refuses_tools = excluded.refuses_tools, refuses_images = excluded.refuses_images,
  wire = excluded.wire, wants_reasoning = excluded.wants_reasoning, refuses_forced = excluded.refuses_forced,
  updated_at = CASE WHEN (window, refuses_tools, refuses_images, wire, wants_reasoning, refuses_forced)
    = (excluded.window, excluded.refuses_tools, excluded.refuses_images, excluded.wire, excluded.wants_reasoning, excluded.refuses_forced)
    AND abs(updated_at - excluded.updated_at) < ? THEN updated_at ELSE excluded.updated_at END`,
		model, f.Window, f.Factor, f.Scale, f.RefusesTools, f.RefusesImages, f.Wire, f.WantsReasoning, f.RefusesForced,
		Now(), factTTL.Milliseconds())
}

// keepCount stores the last count.
func (c *Conversation) keepCount(tx *Tx, count transcript.Count) {
	tx.Do("UPDATE conversations SET counted = ?, counted_estimate = ?, counted_by = ?, counted_with = ? WHERE id = ?",
		count.Prompt, count.Estimate, count.Model, count.Version, c.id)
}

// count returns the last count, if the head it belongs to is still the current one.
func (c *Conversation) count(tx *Tx) (count transcript.Count) {
	tx.Row("SELECT counted, counted_estimate, counted_by, counted_with FROM conversations WHERE id = ? AND counted > 0 AND counted_with = version", c.id).
		Found(&count.Prompt, &count.Estimate, &count.Model, &count.Version)
	return count
}
