// Overrides: what people set for one conversation; it takes precedence over the settings file.

package store

import (
	"context"
	"database/sql"
)

// Override is one value that a user set.
type Override struct {
	Key, Value string
	By         string // the name of the user who set it
	Above      bool   // it is set for the channel of this thread, not for the thread itself
}

// Set returns the overrides in effect for the conversation, by key: those set for it and, in a
// thread, those set for its channel and not for the thread.
func (h Settings) Set(ctx context.Context) ([]Override, error) {
	return View(ctx, h.c, "read the settings", h.c.overrides)
}

// OverrideAll sets values, and removes those that are nil: all of them or none. It calls allow inside
// the transaction with everything that would then be in effect; if allow returns an error,
// OverrideAll returns it unchanged and changes nothing. allow must be quick.
func (h Settings) OverrideAll(ctx context.Context, values map[string]*string, by string, allow func(map[string]string) error) error {
	var refused error
	err := h.c.store.Update(ctx, func(tx *Tx) error {
		for key, value := range values {
			var err error
			if value == nil {
				_, err = tx.Exec("DELETE FROM overrides WHERE conversation = ? AND key = ?", h.c.id, key)
			} else {
				err = h.c.setOverride(tx, key, *value, by)
			}
			if err != nil {
				return err
			}
		}
		set, err := h.c.overrides(tx)
		if err != nil {
			return err
		}
		refused = allow(PatchOf(set)) // an error, which rolls back
		return refused
	})
	if refused != nil {
		return refused
	}
	return h.c.Fail("change the settings", err)
}

func (c *Conversation) setOverride(tx *Tx, key, value, by string) error {
	_, err := tx.Exec("REPLACE INTO overrides (conversation, key, value, made_by, made_at) VALUES (?, ?, ?, ?, ?)", c.id, key, value, by, Now())
	return err
}

// PatchOf returns overrides as a layer of a policy.
func PatchOf(set []Override) map[string]string {
	patch := make(map[string]string, len(set))
	for _, o := range set {
		patch[o.Key] = o.Value
	}
	return patch
}

// overrides returns those of the policy; other keys start with a table's name.
func (c *Conversation) overrides(tx *Tx) ([]Override, error) {
	return c.overridesIn(tx, "")
}

// overridesIn returns those whose key starts with a table's name.
func (c *Conversation) overridesIn(tx *Tx, table string) ([]Override, error) {
	channel, _ := c.HangsOn()
	return Select(tx, func(rows *sql.Rows, o *Override) error { return rows.Scan(&o.Key, &o.Value, &o.By, &o.Above) },
		`SELECT key, value, made_by, conversation <> ?1 FROM overrides
		WHERE (conversation = ?1 OR conversation = (SELECT id FROM conversations WHERE name = ?2)
			AND key NOT IN (SELECT key FROM overrides WHERE conversation = ?1))
		AND substr(key, 1, instr(key, '.')) = ?3
		ORDER BY key`, c.id, channel, table)
}
