// Settings: what people set for one conversation, which takes precedence over the settings file; which
// tools they allow; where the bot is paused, and which threads it follows.

package store

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"
)

// Override is one value that a user set.
type Override struct {
	Key, Value string
	By         string // the name of the user who set it
	Above      bool   // it is set for the channel of this thread, not for the thread itself
	At         time.Time
}

// Set returns the overrides in effect, by key: those set for the conversation and, in a thread, for its channel only.
func (h Settings) Set(ctx context.Context) ([]Override, error) {
	return View(ctx, h.c, "read the settings", func(tx *Tx) []Override { return h.overrides(tx, "") })
}

// OverrideAll sets values, and removes those that are nil: all of them, or none if allow, which gets everything that would then
// be in effect, returns an error. OverrideAll returns that unchanged. allow must be quick.
func (h Settings) OverrideAll(ctx context.Context, values map[string]*string, by Person, allow func(map[string]string) error) error {
	var refused error
	err := h.c.store.Update(ctx, func(tx *Tx) {
		for key, value := range values {
			if value == nil {
				tx.do("DELETE FROM overrides WHERE conversation = ? AND key = ?", h.c.id, key)
			} else {
				h.setOverride(tx, key, *value, by)
			}
		}
		set := h.overrides(tx, "")
		if tx.err == nil {
			refused = allow(PatchOf(set))
			tx.Fail(refused)
		}
	})
	if refused != nil {
		return refused
	}
	return h.c.Fail("change the settings", err)
}

func (h Settings) setOverride(tx *Tx, key, value string, by Person) {
	tx.do(`INSERT INTO overrides (conversation, key, value, made_by, made_by_id, made_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (conversation, key) DO UPDATE SET value = excluded.value, made_by = excluded.made_by, made_by_id = excluded.made_by_id, made_at = excluded.made_at`, h.c.id, key, value, by.Name, by.ID, nowMillis())
}

// PatchOf returns overrides as a layer of a policy.
func PatchOf(set []Override) map[string]string {
	patch := make(map[string]string, len(set))
	for _, o := range set {
		patch[o.Key] = o.Value
	}
	return patch
}

// overrides returns those whose key starts with a table's name, "" for those of the policy.
func (h Settings) overrides(tx *Tx, table string) []Override {
	channel, _ := h.c.HangsOn()
	return listRows(tx, func(rows *sql.Rows, o *Override) error {
		var at int64
		err := rows.Scan(&o.Key, &o.Value, &o.By, &o.Above, &at)
		o.At = utcTime(at)
		return err
	}, `SELECT key, value, made_by, conversation <> ?1, made_at FROM overrides
		WHERE (conversation = ?1 OR conversation = (SELECT id FROM conversations WHERE name = ?2)
			AND key NOT IN (SELECT key FROM overrides WHERE conversation = ?1))
		AND substr(key, 1, instr(key, '.')) = ?3
		ORDER BY key`, h.c.id, channel, table)
}

// ToolRules are what users decided about tools in a conversation. A thread follows its channel's until it has its own.
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

func (h Settings) Tools(ctx context.Context) (ToolRules, error) {
	return View(ctx, h.c, "read which tools it has", func(tx *Tx) ToolRules {
		set := PatchOf(h.overrides(tx, toolKeys))
		return ToolRules{Added: strings.Fields(set[addedKey]), Approved: strings.Fields(set[approvedKey])}
	})
}

// SetTools replaces those decisions of users that change; by is the user who did, if it was one.
func (h Settings) SetTools(ctx context.Context, rules ToolRules, by Person) error {
	return h.c.Update(ctx, "change which tools it has", func(tx *Tx) {
		was := PatchOf(h.overrides(tx, toolKeys))
		for key, names := range map[string][]string{addedKey: rules.Added, approvedKey: rules.Approved} {
			if value := strings.Join(names, " "); value != was[key] {
				h.setOverride(tx, key, value, by)
			}
		}
	})
}

// The key of the chosen model, in the table of the settings.
const (
	modelKeys = "model."
	chosenKey = modelKeys + "chosen"
)

// Model returns which model people chose for the conversation, by its name in the settings file: an Override without a value if none.
// A thread follows its channel's choice until it has its own.
func (h Settings) Model(ctx context.Context) (chosen Override, err error) {
	return View(ctx, h.c, "read which model was chosen", func(tx *Tx) (chosen Override) {
		for _, chosen = range h.overrides(tx, modelKeys) {
			return chosen
		}
		return chosen
	})
}

// SetModel replaces that choice; an empty name means the agent's own model, also in a thread whose channel has another.
func (h Settings) SetModel(ctx context.Context, name string, by Person) error {
	return h.c.Update(ctx, "choose a model", func(tx *Tx) { h.setOverride(tx, chosenKey, name, by) })
}

// Pause silences the bot in the conversation named scope, or everywhere if scope is empty. by is who asked for it.
func (ps Pauses) Pause(ctx context.Context, scope string, by Person) error {
	return ps.set(ctx, "pause", "INSERT INTO pauses (scope, made_by, made_by_id, made_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", scope, by.Name, by.ID, nowMillis())
}

// Resume ends a pause. Other pauses stay.
func (ps Pauses) Resume(ctx context.Context, scope string) error {
	return ps.set(ctx, "resume", "DELETE FROM pauses WHERE scope = ?", scope)
}

func (ps Pauses) set(ctx context.Context, tried, query string, args ...any) error {
	err := ps.store.set(ctx, tried, query, args...)
	ps.store.pauses.Store(new(pauses)) // even after an error: it may have been written
	return err
}

// List returns the scopes of all pauses. A turn asks about 30 times, which as queries took a tenth of its CPU time. They are read
// again after a change, and where other processes may change them, after pausesLast. With an error, they are those that were read last.
func (ps Pauses) List(ctx context.Context) ([]string, error) {
	known := ps.store.pauses.Load()
	if known != nil && !known.read.IsZero() && (ps.store.lease.Load() == nil || time.Since(known.read) < pausesLast) {
		return slices.Clone(known.scopes), nil
	}
	now := time.Now()
	scopes, err := ps.store.names(ctx, "SELECT scope FROM pauses ORDER BY scope")
	switch {
	case err == nil:
		ps.store.pauses.CompareAndSwap(known, &pauses{slices.Clone(scopes), now}) // unless they have changed since
	case known != nil:
		scopes = slices.Clone(known.scopes)
	}
	return scopes, err
}

// pauses are the scopes that List read last; each change replaces them by unread ones.
type pauses struct {
	scopes []string
	read   time.Time // zero: they were not
}

// pausesLast is how soon a process notices that another one has started or ended a pause.
const pausesLast = time.Second

// Follow records whether the bot answers in this thread even when no one addresses it.
func (h Settings) Follow(ctx context.Context, on bool) error {
	return h.c.set(ctx, "follow", follow, on, h.c.id)
}

// Following reports whether the bot follows this thread.
func (h Settings) Following(ctx context.Context) (bool, error) {
	return View(ctx, h.c, "look whether it is followed", h.following)
}

const follow = "UPDATE conversations SET following = ? WHERE id = ?"

func (h Settings) following(tx *Tx) bool {
	return getValue[bool](tx, "SELECT following FROM conversations WHERE id = ?", h.c.id)
}
