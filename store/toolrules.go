// What a conversation has besides the settings file: tools of other programs, and which of them a
// user has allowed.

package store

import (
	"context"
	"strings"
)

// ToolRules are what users decided about tools in a conversation. A thread follows the decisions
// of its channel until it has one of its own.
type ToolRules struct {
	Added    []string // ids of servers
	Approved []string // tools that need approval once, and got it
}

// The keys of the rules, in the table of the settings.
const (
	toolKeys     = "tools."
	addedKey     = toolKeys + "added"
	approvedKey  = toolKeys + "approved"
	toolsDivider = " "
)

// Tools returns what users decided about tools.
func (h Settings) Tools(ctx context.Context) (ToolRules, error) {
	return View(ctx, h.c, "read which tools it has", func(tx *Tx) (rules ToolRules, err error) {
		set, err := h.c.overridesIn(tx, toolKeys)
		for _, o := range set {
			switch o.Key {
			case addedKey:
				rules.Added = strings.Fields(o.Value)
			case approvedKey:
				rules.Approved = strings.Fields(o.Value)
			}
		}
		return rules, err
	})
}

// SetTools replaces what users decided; by is the name of the user who did.
func (h Settings) SetTools(ctx context.Context, rules ToolRules, by string) error {
	return h.c.Update(ctx, "change which tools it has", func(tx *Tx) error {
		for key, values := range map[string][]string{addedKey: rules.Added, approvedKey: rules.Approved} {
			_, err := tx.Exec(`INSERT INTO overrides (conversation, key, value, made_by, made_at) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT DO UPDATE SET value = excluded.value, made_by = excluded.made_by, made_at = excluded.made_at WHERE value <> excluded.value`,
				h.c.id, key, strings.Join(values, toolsDivider), by, Now())
			if err != nil {
				return err
			}
		}
		return nil
	})
}
