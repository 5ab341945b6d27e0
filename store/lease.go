// Leases: which processes run the bot on one database, and which of them owns a conversation.
//
// A process has one lease, by the clock of the database, and renews it. Anybody may end a process whose lease is over: its row is
// deleted, which nothing takes back. Only then do others claim its conversations, each with a higher epoch. What an owner writes
// compares the epoch while it holds the lock of the conversation's row, so nothing that a former owner writes is ever stored, however
// long it was frozen and whatever its clock says. Other processes may write to a conversation, too, as when they receive a message:
// they lock the row, compare nothing, and leave an event for the owner.
//
// SQLite has one process, which owns everything and needs no lease.

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Errors of leases.
var (
	// ErrOwned means that another process owns the conversation: it cannot be claimed, or what its former owner tried to write is refused.
	ErrOwned = errors.New("another process of the bot owns the conversation")

	// ErrUnknown means that the connection was lost before the server confirmed what was written. It may be written or not.
	ErrUnknown = errors.New("it is not known whether this was written")

	// ErrEnded means that this process did not renew its lease in time, and was ended by another one.
	ErrEnded = errors.New("this process was frozen, or cut off from the database, and others have ended it: start it again")
)

// Lease is the membership of this process among those that run the bot. It is safe for concurrent use.
type Lease struct {
	store *Store
	id    int64
	lasts time.Duration

	mu      sync.Mutex       // guards below
	until   time.Time        // by the clock of this process, which is monotonic: never later than the lease ends in the database
	contact time.Time        // since when each renewal was in time; zero: there was none
	all     []Process        // oldest first
	epochs  map[string]int64 // of the conversations that the process owns, by the name of the conversation of people
}

// ID returns the number of this process.
func (l *Lease) ID() int64 { return l.id }

// Until returns when the lease ends if it is not renewed, by the monotonic clock of this process.
func (l *Lease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// All returns the processes that ran the bot when the lease was last renewed, this one included, oldest first.
func (l *Lease) All() []Process {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// Self returns this process, as it was when the lease was last renewed.
func (l *Lease) Self() (self Process) {
	for _, p := range l.All() {
		if p.ID == l.id {
			self = p
		}
	}
	return self
}

// Publish tells other processes the hash of the settings of this one.
func (l *Lease) Publish(ctx context.Context, settings string) error {
	return Fail("publish the hash of the settings", l.store.beside(ctx, func(tx *Tx) {
		tx.do("UPDATE processes SET settings = ? WHERE id = ?", settings, l.id)
	}))
}

// Renew renews the lease, and ends processes whose lease is over; it returns their names. ErrEnded: this one was ended. After a time in
// which this process could not reach the database, the others get as long as a lease lasts to renew theirs: they may not have reached it
// either.
func (l *Lease) Renew(ctx context.Context) (ended []string, err error) {
	asked := time.Now()
	contact := l.inContact(asked)
	var all []Process
	err = l.store.beside(ctx, func(tx *Tx) {
		if !tx.changed("UPDATE processes SET lease_until = "+clock+" + ? WHERE id = ?", l.lasts.Milliseconds(), l.id) {
			tx.Fail(ErrEnded)
			return
		}
		if asked.Sub(contact) < l.lasts {
			all = tx.processes()
			return
		}
		ended = listValues[string](tx, "DELETE FROM processes WHERE lease_until < "+clock+" RETURNING name")
		if len(ended) > 0 {
			tx.do("DELETE FROM requests WHERE process NOT IN (SELECT id FROM processes)")
			tx.store.engine.notify(tx, true)
		}
		all = tx.processes()
	})
	if err != nil {
		return nil, Fail("renew the lease", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = asked.Add(l.lasts)
	l.contact = contact
	l.all = all
	return ended, nil
}

// inContact returns since when the lease was renewed in time, if it is renewed now.
func (l *Lease) inContact(now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.After(l.until.Add(-l.lasts / 2)) { // a renewal has failed, or is late
		return now
	}
	return l.contact
}

// Leave says that this process takes on nothing new.
func (l *Lease) Leave(ctx context.Context) error {
	return l.write(ctx, "say that this process stops", "UPDATE processes SET draining = 1 WHERE id = ?")
}

// End ends this process: others may claim its conversations.
func (l *Lease) End(ctx context.Context) error {
	return l.write(ctx, "end the lease", "DELETE FROM requests WHERE process = ?", "DELETE FROM processes WHERE id = ?")
}

func (l *Lease) write(ctx context.Context, tried string, queries ...string) error {
	return Fail(tried, l.store.beside(ctx, func(tx *Tx) {
		for _, query := range queries {
			tx.do(query, l.id)
		}
		tx.store.engine.notify(tx, true)
	}))
}

// isFree is true for a conversation of people, r, that no running process owns.
const isFree = "r.owner NOT IN (SELECT id FROM processes)"

// Claim makes this process the owner of a conversation and of its tasks, and returns the conversation as its owner writes to it. What
// other processes have told its owner is forgotten: the new owner reads everything. Messages that wait get the order in which people
// wrote them, because several processes may have stored them. ErrOwned: another process owns it.
func (l *Lease) Claim(ctx context.Context, c *Conversation) (*Conversation, error) {
	root, _ := RootOf(c.name)
	owned := &Conversation{c.handle}
	people := int64(0)
	waiting := 0
	err := l.store.Update(ctx, func(tx *Tx) {
		owned.epoch = l.epochOf(root)
		if owned.epoch != 0 {
			return
		}
		tx.store.engine.enter(tx, c.handle, quiet) // the next statement sees what the last owner of the lock has written
		found := tx.row(`UPDATE conversations AS r SET owner = ?1, epoch = epoch + 1
			WHERE name = ?2 AND (owner = ?1 OR `+isFree+`) AND EXISTS (SELECT 1 FROM processes WHERE id = ?1)
			RETURNING epoch, id, (SELECT count(*) FROM inbox i JOIN conversations c ON c.id = i.conversation WHERE c.name = ?2)`, l.id, root).Found(&owned.epoch, &people, &waiting)
		if !found {
			tx.Fail(ErrOwned)
			return
		}
		if waiting > 1 {
			Inbox{handle{store: l.store, id: people, name: root}}.reorder(tx)
		}
		tx.do("DELETE FROM events WHERE conversation = ?", c.id)
		l.setEpoch(root, owned.epoch) // in the order of transactions
	})
	if err != nil {
		l.Forget(root, owned.epoch)
		return nil, c.Fail("claim", err)
	}
	return owned, nil
}

// Owns reports whether this process has claimed a conversation of people, and neither released nor lost it.
func (l *Lease) Owns(root string) bool { return l.epochOf(root) != 0 }

func (l *Lease) epochOf(root string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epochs[root]
}

func (l *Lease) setEpoch(root string, epoch int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epochs[root] = epoch
}

// Forget makes the next Claim of a conversation of people raise the epoch, if it still is this one.
func (l *Lease) Forget(root string, epoch int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epochs[root] == epoch {
		delete(l.epochs, root)
	}
}

// Release gives up a conversation and its tasks, which its owner must not use any more. Others are told if it has more to do.
func (l *Lease) Release(ctx context.Context, c *Conversation) error {
	root, _ := RootOf(c.name)
	l.Forget(root, c.epoch)
	err := c.Update(ctx, "release", func(tx *Tx) {
		tx.do("UPDATE conversations SET owner = 0 WHERE name = ?", root)
		tx.leaveWork(root)
	})
	if errors.Is(err, ErrOwned) { // nothing is left to give up
		return nil
	}
	return err
}

// OwnedElsewhere reports whether another running process owns a conversation of people.
func OwnedElsewhere(ctx context.Context, l *Lease, root string) (owned bool, err error) {
	err = l.store.look(ctx, oneRead, func(tx *Tx) {
		owned = exists(tx, "SELECT 1 FROM conversations AS r WHERE name = ? AND owner <> ? AND NOT "+isFree, root, l.id)
	})
	return owned, Fail("look for the owner of "+root, err)
}

// MarksElsewhere returns texts that change with the conversations of other processes, by name.
func MarksElsewhere(ctx context.Context, l *Lease) (map[string]string, error) {
	marks := make(map[string]string)
	err := l.store.View(ctx, func(tx *Tx) {
		eachRow(tx, func(rows *sql.Rows) error {
			var name string
			var seq, version int64
			err := rows.Scan(&name, &seq, &version)
			marks[name] = fmt.Sprint(seq, "/", version)
			return err
		}, "SELECT name, next_seq, version FROM conversations AS r WHERE owner <> ? AND NOT "+isFree, l.id)
	})
	return marks, Fail("look for what other processes have done", err)
}

// GiveUp is Release for a conversation of people that this process does not use, and may own nevertheless: a release has failed.
func (l *Lease) GiveUp(ctx context.Context, root string) error {
	return Fail("give up "+root, l.store.beside(ctx, func(tx *Tx) {
		if tx.changed("UPDATE conversations SET owner = 0 WHERE name = ? AND owner = ?", root, l.id) {
			tx.leaveWork(root)
		}
	}))
}

// Epoch is that of the owner as whom this writes; 0: it writes as somebody else.
func (c *Conversation) Epoch() int64 { return c.epoch }
