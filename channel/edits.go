package channel

import (
	"context"
	"errors"
	"sync"
	"time"

	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/privacy"
	"cairn/store"
)

// Edits and deletions are on disk immediately; the loop applies them to the prompt, also during a turn.

// edits applies edits and deletions. Those made while the connector reads history, which may still have the old messages,
// it repeats afterwards. It is safe for concurrent use.
type edits struct {
	records *store.Conversation
	wake    func() // has the conversation check for work

	forgotten func(name string, ids []string) // has the connector forget what was deleted

	mu      sync.Mutex // guards all below
	reading bool
	during  []change // made since
}

// change is an edit or deletions that a connector reports.
type change struct {
	edited  *Inbound
	deleted []string // platform ids
}

func (e *edits) apply(ctx context.Context, what change) error {
	e.mu.Lock()
	if e.reading { // what is read may lack it
		e.during = append(e.during, what)
	}
	e.mu.Unlock()
	return e.write(ctx, what)
}

func (e *edits) write(ctx context.Context, what change) error {
	if what.edited == nil {
		err := privacy.Of(e.records).Delete(ctx, what.deleted)
		if err == nil {
			e.forgotten(e.records.Name(), what.deleted)
		}
		return err
	}
	seq, changed, err := privacy.Of(e.records).Edit(ctx, *what.edited)
	if changed {
		e.forgotten(e.records.Name(), nil)
	}
	if changed && seq == 0 { // it waits, and may be incomplete now
		e.wake()
	}
	return err
}

// startReading says that the connector reads history until repeat.
func (e *edits) startReading() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reading = true
}

// repeat ends the reading of history, and repeats the edits and deletions that were made during it.
func (e *edits) repeat(ctx context.Context) (err error) {
	e.mu.Lock()
	during := e.during
	e.during = nil
	e.reading = false
	e.mu.Unlock()
	for _, what := range during {
		err = errors.Join(err, e.write(ctx, what))
	}
	return err
}

// changes says what was edited or deleted since a turn started. Only the loop uses it.
type changes struct {
	seen     bool
	outdated bool // the same since its tools began to run; of another agent, since its last request
}

// note notes an edit or a deletion.
func (c *changes) note() {
	c.seen = true
	c.outdated = true
}

// changed has the engine read what has changed on disk, and repair summaries over it. A turn whose question was deleted ends.
// Only the loop calls it.
func (c *conversation) changed() {
	if turn := c.turn.Load(); turn != nil {
		turn.changes.note()
		if open, found, err := c.records.Turns().Unanswered(c.life); err == nil && (!found || open.Seq != turn.Seq) {
			turn.cancel(errDeleted)
		}
	}
	if c.engine == nil {
		return // it reads everything when it is opened
	}
	if c.engine.Changed(c.life) != nil {
		c.runs.again = true // the child tries again, and reports why it fails
		return
	}
	c.engine.Check(c.life)
}

// changed has a conversation in memory read what has changed on disk.
func (h *Hub) changed(name string) {
	h.post(name, func(c *conversation) {
		c.changed()
		if c.task != nil { // the task may have ended because of that; otherwise it continues with its next part
			c.interrupt()
		}
	})
}

// asksByEdit reports whether a person addresses the bot by an edit, whose time m has, so that it may be answered: at most catchUp
// ago, because a platform may repeat an old edit. Programs stream their messages by edits.
func asksByEdit(rules *access.Rules, name string, m Inbound, catchUp time.Duration) bool {
	return m.Addressed && !m.Bot && !command.Is(m.Text) && rules.Hears(name, m.AuthorID, m.Bot) &&
		rules.RespondIn(name) != access.RespondNever && time.Since(m.Time) <= catchUp
}
