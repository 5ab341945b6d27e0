// Probes: does the database answer, does it take anything, is it in its place, and what
// waits in it?

package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// identify notes which file the store has open.
func (s *Store) identify() error {
	file, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("look at the database: %w", err)
	}
	s.file = file
	return nil
}

// inPlace returns ErrReplaced if the store's path does not lead to the file it has open:
// SQLite goes on writing there, and nobody would find it again.
func (s *Store) inPlace() error {
	now, err := os.Stat(s.path)
	switch {
	case s.file == nil: // it is being opened
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look at the database: %w", err)
	case err != nil || !os.SameFile(now, s.file):
		return fmt.Errorf("%w: put it back, or stop the bot and run `cairn restore FILE`", ErrReplaced)
	}
	return nil
}

// Answers returns nil if the database can be read.
func (s *Store) Answers(ctx context.Context) error {
	err := s.view(ctx, func(tx *transaction) error {
		_, err := versionOf(tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the database: %w", err)
	}
	return nil
}

// Takes returns nil if the database can be written: it writes the number of the version
// once more, down to the disk.
func (s *Store) Takes(ctx context.Context) error {
	err := s.update(ctx, func(tx *transaction) error {
		_, err := tx.Exec(fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
		return err
	})
	if err != nil {
		return fmt.Errorf("write the database: %w", err)
	}
	return nil
}

// Waiting counts the messages that were not taken up yet, and the pieces of replies that
// were not sent yet.
func (s *Store) Waiting(ctx context.Context) (inbox, outbox int, err error) {
	err = s.view(ctx, func(tx *transaction) error {
		return tx.QueryRow(`SELECT (SELECT count(*) FROM inbox),
			(SELECT count(*) FROM outbox INDEXED BY outbox_unsent WHERE state IN ('waiting', 'sending'))`).Scan(&inbox, &outbox)
	})
	if err != nil {
		return 0, 0, fmt.Errorf("count what waits: %w", err)
	}
	return inbox, outbox, nil
}
