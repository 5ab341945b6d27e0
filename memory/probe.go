// Probes: does the database answer, does it take anything, and what waits in it?

package memory

import (
	"context"
	"fmt"
)

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
