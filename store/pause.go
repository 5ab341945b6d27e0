// Switches: where the bot is paused, and which threads it follows.

package store

import "context"

// Pause silences the bot in the conversation named scope, or everywhere if scope is empty. by is
// the name of the user who asked for it.
func (ps Pauses) Pause(ctx context.Context, scope, by string) error {
	return ps.store.set(ctx, "pause", "INSERT INTO pauses (scope, made_by, made_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", scope, by, Now())
}

// Resume ends a pause. Other pauses stay.
func (ps Pauses) Resume(ctx context.Context, scope string) error {
	return ps.store.set(ctx, "resume", "DELETE FROM pauses WHERE scope = ?", scope)
}

// List returns the scopes of all pauses.
func (ps Pauses) List(ctx context.Context) ([]string, error) {
	return ps.store.names(ctx, "SELECT scope FROM pauses ORDER BY scope")
}

// Follow records whether the bot answers in this thread even when no one addresses it. The bot
// starts to follow a thread when someone addresses it there.
func (h Settings) Follow(ctx context.Context, on bool) error {
	return h.c.Update(ctx, "follow", func(tx *Tx) error { return h.c.follow(tx, on) })
}

// Following reports whether the bot follows this thread.
func (h Settings) Following(ctx context.Context) (bool, error) {
	return View(ctx, h.c, "look whether it is followed", h.c.following)
}

func (c *Conversation) follow(tx *Tx, on bool) error {
	_, err := tx.Exec("UPDATE conversations SET following = ? WHERE id = ?", on, c.id)
	return err
}

func (c *Conversation) following(tx *Tx) (bool, error) {
	return Value[bool](tx, "SELECT following FROM conversations WHERE id = ?", c.id)
}
