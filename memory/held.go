// Held deliveries: what people say while VACUUM locks the database.

package memory

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
	"sync"
)

// held is the small database that takes deliveries meanwhile. Its lock is a gate: a delivery
// has it shared for as long as it takes, and who opens or closes the file has it alone.
type held struct {
	gate    sync.RWMutex // guards db
	db      *sql.DB      // nil: deliveries go to the store itself
	deliver func(ctx context.Context, conversation string, messages []Inbound) error
}

const heldName = "cairn.held"

// open lets deliveries go to the file from here on, and waits for those under way.
func (h *held) open(ctx context.Context, store string) error {
	h.gate.Lock()
	defer h.gate.Unlock()
	if h.db != nil {
		return errors.New("it is being rewritten already")
	}
	path := filepath.Join(filepath.Dir(store), heldName)
	file, err := openPrivate(path)
	if err != nil {
		return err
	}
	db := open(path, "_journal_mode=DELETE&_synchronous=FULL&_secure_delete=on")
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS held (id INTEGER PRIMARY KEY, conversation TEXT NOT NULL, messages BLOB NOT NULL) STRICT")
	if err = errors.Join(file.Close(), err); err != nil {
		return errors.Join(err, db.Close())
	}
	h.db = db
	return nil
}

// WatchHeld sets what takes the deliveries that were held. It is set once, before the store
// is used.
func (s *Store) WatchHeld(f func(ctx context.Context, conversation string, messages []Inbound) error) {
	s.held.deliver = f
}

// Hold stores a delivery if the database is being rewritten; it is on disk then, and is
// delivered afterwards. Else kept is false, and the caller delivers. It calls done in
// either case: the rewriting does not begin before.
func (s *Store) Hold(ctx context.Context, conversation string, messages []Inbound) (kept bool, done func(), err error) {
	s.held.gate.RLock()
	if s.held.db == nil {
		return false, s.held.gate.RUnlock, nil
	}
	defer s.held.gate.RUnlock()
	var row bytes.Buffer
	err = gob.NewEncoder(&row).Encode(messages)
	if err == nil {
		_, err = s.held.db.ExecContext(ctx, "INSERT INTO held (conversation, messages) VALUES (?, ?)", conversation, row.Bytes())
	}
	if err != nil {
		return false, func() {}, fmt.Errorf("hold a delivery: %w", explain(err))
	}
	return true, func() {}, nil
}

// DeliverHeld delivers what was held, also by a process that was killed, and removes the
// file. New deliveries wait for the last of it.
func (s *Store) DeliverHeld(ctx context.Context) error {
	path := filepath.Join(filepath.Dir(s.path), heldName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s.held.gate.RLock()
	open := s.held.db != nil
	s.held.gate.RUnlock()
	if !open {
		if err := s.held.open(ctx, s.path); err != nil {
			return err
		}
	}
	// Most of it while deliveries are still held, the rest while they wait.
	err := s.drain(ctx)
	s.held.gate.Lock()
	defer s.held.gate.Unlock()
	err = errors.Join(err, s.drain(ctx), s.held.db.Close())
	s.held.db = nil
	if err != nil {
		return fmt.Errorf("deliver what was held: %w", err)
	}
	return errors.Join(os.Remove(path), flush(filepath.Dir(path)))
}

// drain delivers row by row. A message that is delivered twice is recognized by its id.
func (s *Store) drain(ctx context.Context) error {
	deliver := s.held.deliver
	if deliver == nil { // no bot runs
		deliver = s.deliverTo
	}
	for {
		var id int64
		var conversation string
		var row []byte
		err := s.held.db.QueryRowContext(ctx, "SELECT id, conversation, messages FROM held ORDER BY id LIMIT 1").Scan(&id, &conversation, &row)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		var messages []Inbound
		if err == nil {
			err = gob.NewDecoder(bytes.NewReader(row)).Decode(&messages)
		}
		if err == nil {
			err = deliver(ctx, conversation, messages)
		}
		if err == nil {
			_, err = s.held.db.ExecContext(ctx, "DELETE FROM held WHERE id = ?", id)
		}
		if err != nil {
			return err
		}
	}
}

func (s *Store) deliverTo(ctx context.Context, conversation string, messages []Inbound) error {
	c, err := s.Conversation(ctx, conversation)
	if err == nil {
		_, err = c.DeliverAll(ctx, messages)
	}
	return err
}
