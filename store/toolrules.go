// What a conversation has besides the settings file: tools of other programs, and which of them a
// user has allowed.

package store

import (
	"context"
	"slices"
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
	toolKeys    = "tools."
	addedKey    = toolKeys + "added"
	approvedKey = toolKeys + "approved"
)

// Tools returns what users decided about tools.
func (h Settings) Tools(ctx context.Context) (ToolRules, error) {
	return View(ctx, h.c, "read which tools it has", h.c.tools)
}

func (c *Conversation) tools(tx *Tx) (rules ToolRules, err error) {
	set, err := c.overridesIn(tx, toolKeys)
	for _, o := range set {
		switch o.Key {
		case addedKey:
			rules.Added = strings.Fields(o.Value)
		case approvedKey:
			rules.Approved = strings.Fields(o.Value)
		}
	}
	return rules, err
}

// SetTools replaces those decisions of users that change; by is the name of the user who did.
func (h Settings) SetTools(ctx context.Context, rules ToolRules, by string) error {
	return h.c.Update(ctx, "change which tools it has", func(tx *Tx) error {
		was, err := h.c.tools(tx)
		set := func(key string, was, values []string) {
			if err == nil && !slices.Equal(was, values) {
				err = h.c.setOverride(tx, key, strings.Join(values, " "), by)
			}
		}
		set(addedKey, was.Added, rules.Added)
		set(approvedKey, was.Approved, rules.Approved)
		return err
	})
}
