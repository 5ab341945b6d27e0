// Calls of tools for which permission was asked. A question stays valid when nothing waits for its answer any more.

package store

import (
	"context"
	"time"
)

// AskedCall is a call of a tool that needs permission, without its arguments.
type AskedCall struct {
	Code    string    `json:"code"` // of the question
	Call    string    `json:"call"` // identifies the tool and the arguments
	Tool    string    `json:"tool"` // by the name that models know
	Turn    int64     `json:"turn"` // that asked
	Asked   time.Time `json:"asked"`
	Allowed time.Time `json:"allowed_at,omitzero"` // when somebody allowed it, if the turn did not wait any more; zero: nobody did
}

// askedKey is among the settings of a conversation: a JSON list. A thread has its own.
const askedKey = toolKeys + "asked"

// maxAsked is how many calls are kept, the newest ones.
const maxAsked = 20

// Asked returns the calls for which permission was asked, and whose question was not settled.
func (h Settings) Asked(ctx context.Context) ([]AskedCall, error) {
	return View(ctx, h.c, "read questions about tools", h.asked)
}

func (h Settings) asked(tx *Tx) (asked []AskedCall) {
	tx.row("SELECT value FROM overrides WHERE conversation = ? AND key = ?", h.c.id, askedKey).Found(jsonInto(&asked))
	return asked
}

// UpdateAsked replaces what Asked returns by what change returns.
func (h Settings) UpdateAsked(ctx context.Context, change func(asked []AskedCall) []AskedCall) error {
	return h.c.Update(ctx, "note a question about a tool", func(tx *Tx) {
		asked := h.asked(tx)
		now := change(asked)
		switch {
		case len(now) > 0:
			h.setOverride(tx, askedKey, encode(now[max(len(now)-maxAsked, 0):]), Person{})
		case len(asked) > 0:
			tx.do("DELETE FROM overrides WHERE conversation = ? AND key = ?", h.c.id, askedKey)
		}
	})
}
