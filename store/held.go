// Held deliveries: messages that arrive while VACUUM locks the database.

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
)

// held is the small database that accepts deliveries during that time. Each delivery holds the gate
// shared; opening or closing the file holds it exclusively.
type held struct {
	only  sync.Mutex   // locked by Vacuum and Deliver, which must not run at the same time; locked before gate
	gate  sync.RWMutex // guards db
	db    *sql.DB      // nil: deliveries go to the store itself
	apply func(ctx context.Context, d Delivery) error
}

// Delivery is what a platform reports of a conversation, in order: messages, an edit, deletions.
type Delivery struct {
	Conversation string
	Messages     []Inbound
	Edited       *Inbound
	Deleted      []string // platform ids
}

const heldName = "cairn.held"

func (s *Store) heldPath() string { return filepath.Join(filepath.Dir(s.path), heldName) }

// open sends deliveries to the file from now on, and waits for those in flight.
func (h *held) open(ctx context.Context, path string) error {
	h.gate.Lock()
	defer h.gate.Unlock()
	if h.db != nil {
		return errors.New("it is being rewritten already")
	}
	file, err := openPrivate(path)
	if err != nil {
		return err
	}
	db := open(path, "_journal_mode=DELETE&_synchronous=FULL&_secure_delete=on")
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS held (id INTEGER PRIMARY KEY, delivery BLOB NOT NULL) STRICT")
	if err = errors.Join(file.Close(), err); err != nil {
		return errors.Join(err, db.Close())
	}
	h.db = db
	return nil
}

// Watch sets the function that applies held deliveries. It must be called once, before the store is
// used.
func (hd Held) Watch(apply func(ctx context.Context, d Delivery) error) { hd.store.held.apply = apply }

// Hold stores a delivery if the database is being rewritten; then it is on disk, and is applied
// afterwards. Otherwise kept is false, and the caller applies it. In either case the caller must
// call done; rewriting does not start before that.
func (hd Held) Hold(ctx context.Context, d Delivery) (kept bool, done func(), err error) {
	hd.store.held.gate.RLock()
	if hd.store.held.db == nil {
		return false, hd.store.held.gate.RUnlock, nil
	}
	defer hd.store.held.gate.RUnlock()
	if slices.ContainsFunc(d.Messages, func(m Inbound) bool { return m.ID == "" }) {
		return false, func() {}, errNoID // the inbox would refuse it later, when the sender can no longer be notified
	}
	var row bytes.Buffer
	if err = gob.NewEncoder(&row).Encode(d); err == nil {
		_, err = hd.store.held.db.ExecContext(ctx, "INSERT INTO held (delivery) VALUES (?)", row.Bytes())
	}
	if err != nil {
		return false, func() {}, fmt.Errorf("hold a delivery: %w", explain(err))
	}
	return true, func() {}, nil
}

// Deliver applies the held deliveries, including those of a killed process, and removes the file.
// New deliveries wait until it has finished, so that the order is kept. ErrHeld: a row cannot be
// read; it stays in the file.
func (hd Held) Deliver(ctx context.Context) error {
	hd.store.held.only.Lock()
	defer hd.store.held.only.Unlock()
	return hd.store.deliverHeld(ctx)
}

// deliverHeld is Deliver for callers that have locked only.
func (s *Store) deliverHeld(ctx context.Context) error {
	path := s.heldPath()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s.held.gate.RLock()
	open := s.held.db != nil
	s.held.gate.RUnlock()
	if !open {
		if err := s.held.open(ctx, path); err != nil {
			return fmt.Errorf("deliver what was held: %w", err)
		}
	}
	// Most rows are applied while new deliveries are still held, the rest while they wait.
	err := s.drain(ctx)
	s.held.gate.Lock()
	defer s.held.gate.Unlock()
	if err == nil {
		err = s.drain(ctx)
	}
	err = errors.Join(err, s.held.db.Close())
	s.held.db = nil
	if err != nil {
		return fmt.Errorf("deliver what was held: %w", err)
	}
	return errors.Join(os.Remove(path), flush(filepath.Dir(path)))
}

// drain applies row by row. A message that is delivered twice is deduped by its id.
func (s *Store) drain(ctx context.Context) error {
	for {
		var id int64
		var row []byte
		err := s.held.db.QueryRowContext(ctx, "SELECT id, delivery FROM held ORDER BY id LIMIT 1").Scan(&id, &row)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		var d Delivery
		if err := gob.NewDecoder(bytes.NewReader(row)).Decode(&d); err != nil {
			return fmt.Errorf("%w: row %d of %s, a message that arrived while the database was rewritten, cannot be read: keep a copy of the file, move it away, and start again: %w", ErrHeld, id, s.heldPath(), err)
		}
		err = s.held.apply(ctx, d)
		if err == nil {
			_, err = s.held.db.ExecContext(ctx, "DELETE FROM held WHERE id = ?", id)
		}
		if err != nil {
			return err
		}
	}
}
