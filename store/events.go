// Events: what processes tell the owners of conversations.

package store

import (
	"context"
	"database/sql"
	"errors"
)

// leaveWork tells other processes what a conversation of people and its tasks have to do.
func (t *Tx) leaveWork(root string) {
	left := t.changes(`INSERT INTO events (conversation, changed) SELECT c.id, 0 FROM conversations c LEFT JOIN tasks t ON t.id = c.id
		JOIN conversations r ON r.id = coalesce(t.root, c.id) WHERE r.name = ? AND `+waits, root)
	if left > 0 {
		t.store.engine.notify(t, false)
	}
}

// Event is what another process has written to a conversation of this one.
type Event struct {
	Conversation string
	Changed      bool // what is known of the conversation is out of date; false: it has more to do
}

// Events takes the events of this process's conversations, which it also returns with ErrUnknown. free are conversations that nobody owns and that have something to do.
func (l *Lease) Events(ctx context.Context) (mine []Event, free []string, err error) {
	var taken []int64
	err = l.store.View(ctx, func(tx *Tx) {
		eachRow(tx, func(rows *sql.Rows) error {
			var e Event
			var id, owner int64
			err := rows.Scan(&id, &e.Conversation, &e.Changed, &owner)
			switch owner {
			case l.id:
				mine = append(mine, e)
				taken = append(taken, id)
			case 0:
				free = append(free, e.Conversation)
			}
			return err
		}, `SELECT e.id, c.name, e.changed, CASE WHEN `+isFree+` THEN 0 ELSE r.owner END FROM events e JOIN conversations c ON c.id = e.conversation
			LEFT JOIN tasks t ON t.id = c.id JOIN conversations r ON r.id = coalesce(t.root, c.id) ORDER BY e.id`)
	})
	if err == nil && len(taken) > 0 { // before they are handled: what comes after this has an event of its own
		err = l.store.beside(ctx, func(tx *Tx) {
			tx.do("DELETE FROM events WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?))", listOf(taken))
		})
	}
	if err != nil && !errors.Is(err, ErrUnknown) { // after that, perhaps nobody reads them again
		mine = nil
		free = nil
	}
	return mine, free, Fail("read the events of other processes", err)
}

// Orphans returns the names of the conversations with work to do whose owner has ended, and of their tasks.
func (l *Lease) Orphans(ctx context.Context) ([]string, error) {
	return l.store.names(ctx, `SELECT c.name FROM conversations c LEFT JOIN tasks t ON t.id = c.id JOIN conversations r ON r.id = coalesce(t.root, c.id)
		WHERE r.owner <> 0 AND `+isFree+` AND (`+waits+` OR `+owes+` OR t.state = 'open') ORDER BY c.id`)
}

// WakeTasks tells other processes to go on with their open tasks.
func (l *Lease) WakeTasks(ctx context.Context) error {
	return Fail("wake the tasks of other processes", l.store.beside(ctx, func(tx *Tx) {
		tx.do(`INSERT INTO events (conversation, changed) SELECT t.id, 0 FROM tasks t JOIN conversations r ON r.id = t.root
			WHERE t.state = 'open' AND r.owner NOT IN (0, ?)`, l.id)
		tx.store.engine.notify(tx, false)
	}))
}

// Listen calls heard when another process has written an event, or, with members, has left or ended. It returns when the connection is
// lost or ctx ends.
func (l *Lease) Listen(ctx context.Context, heard func(members bool)) error {
	return Fail("listen to other processes", l.store.engine.explain(l.store.engine.listen(ctx, heard)))
}

// Wake tells the owner of a conversation that it has something to do.
func (c *Conversation) Wake(ctx context.Context) error {
	return c.enter(ctx, "wake", woken, func(*Tx) {})
}
