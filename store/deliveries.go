// Deliveries that arrive while VACUUM locks the database: they are held in a small database of their own.

package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
)

// Deliveries are a small database that accepts deliveries while VACUUM locks the store. Each delivery holds the gate
// shared; opening or closing the file holds it exclusively.
type Deliveries struct {
	path  string
	only  sync.Mutex   // locked by Vacuum and Deliver, which must not run at the same time; locked before gate
	gate  sync.RWMutex // guards db
	db    *sql.DB      // nil: deliveries go to the store itself
	stuck atomic.Bool  // the oldest held delivery could not be applied, or not removed
	apply func(ctx context.Context, d Delivery) error
}

// Delivery is what a platform reports of a conversation, in order: messages, an edit, deletions.
type Delivery struct {
	Conversation string
	Messages     []Inbound
	Edited       *Inbound
	Deleted      []string // platform ids
}

const deliveriesName = "cairn.held"

// open sends deliveries to the file from now on, and waits for those in flight.
func (h *Deliveries) open(ctx context.Context) error {
	h.gate.Lock()
	defer h.gate.Unlock()
	if h.db != nil {
		return nil
	}
	if err := makePrivate(h.path); err != nil {
		return err
	}
	db := open(h.path, "_journal_mode=DELETE&_synchronous=FULL&_secure_delete=on")
	db.SetMaxOpenConns(1)
	_, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS held (id INTEGER PRIMARY KEY, delivery BLOB NOT NULL) STRICT")
	if err != nil {
		return errors.Join(err, db.Close())
	}
	h.db = db
	return nil
}

// Watch sets the function that applies held deliveries. It must be called once, before the store is used.
func (h *Deliveries) Watch(apply func(ctx context.Context, d Delivery) error) { h.apply = apply }

// Hold stores a delivery durably if the database is being rewritten, or while an earlier one, whose message it may edit or delete,
// is still held; it is applied afterwards. Otherwise it calls now, which applies it; rewriting does not start before now returns.
func (h *Deliveries) Hold(ctx context.Context, d Delivery, now func() error) error {
	if h.stuck.Load() && h.only.TryLock() {
		_ = h.deliver(ctx) // Deliver reports why it fails
		h.only.Unlock()
	}
	h.gate.RLock()
	defer h.gate.RUnlock()
	if h.db == nil {
		return now()
	}
	if slices.ContainsFunc(d.Messages, func(m Inbound) bool { return m.ID == "" }) {
		return errNoID // the inbox would refuse it later, when the sender can no longer be notified
	}
	var row bytes.Buffer
	err := gob.NewEncoder(&row).Encode(d)
	if err == nil {
		_, err = h.db.ExecContext(ctx, "INSERT INTO held (delivery) VALUES (?)", row.Bytes())
	}
	return Fail("hold a delivery", explain(err))
}

// Deliver applies the held deliveries, in order, including those of a killed process, and removes the file. New deliveries wait
// until it has finished. ErrDeliveries: a row cannot be read; it stays in the file.
func (h *Deliveries) Deliver(ctx context.Context) error {
	h.only.Lock()
	defer h.only.Unlock()
	return Fail("deliver what was held", h.deliver(ctx))
}

// deliver is Deliver for callers that have locked only.
func (h *Deliveries) deliver(ctx context.Context) error {
	if _, err := os.Stat(h.path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := h.open(ctx); err != nil {
		return err
	}
	// Most rows are applied while new deliveries are still held, the rest while they wait.
	err := h.drain(ctx)
	h.gate.Lock()
	defer h.gate.Unlock()
	if err == nil {
		err = h.drain(ctx)
	}
	h.stuck.Store(err != nil && !errors.Is(err, ErrDeliveries))
	if h.stuck.Load() {
		return err
	}
	err = errors.Join(err, h.db.Close())
	h.db = nil
	if err != nil {
		return err
	}
	return errors.Join(os.Remove(h.path), flush(filepath.Dir(h.path)))
}

// drain applies row by row. A message that is delivered twice is deduped by its id.
func (h *Deliveries) drain(ctx context.Context) error {
	for {
		var id int64
		var row []byte
		err := h.db.QueryRowContext(ctx, "SELECT id, delivery FROM held ORDER BY id LIMIT 1").Scan(&id, &row)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		var d Delivery
		if err := gob.NewDecoder(bytes.NewReader(row)).Decode(&d); err != nil {
			return fmt.Errorf("%w: row %d of %s, a message that arrived while the database was rewritten, cannot be read: "+
				"keep a copy of the file, move it away, and start again: %w", ErrDeliveries, id, h.path, err)
		}
		err = h.apply(ctx, d)
		if err == nil {
			_, err = h.db.ExecContext(ctx, "DELETE FROM held WHERE id = ?", id)
		}
		if err != nil {
			return err
		}
	}
}
