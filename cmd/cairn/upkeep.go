// Upkeep: a running bot backs up its database, and erases deleted text from its files.

package main

import (
	"cmp"
	"path/filepath"
	"time"

	"cairn/config"
	"cairn/store"
)

// upkeepEvery is how often the bot checks whether upkeep is due: much shorter than the quietest
// hour, so that none is missed.
const upkeepEvery = 5 * time.Minute

// backupsOf returns the backup policy of settings.
func backupsOf(s *config.Settings) store.Backups {
	dir := cmp.Or(s.Path(s.Backup.Dir), filepath.Join(s.DataDir, store.BackupsName))
	return store.Backups{Every: time.Duration(s.Backup.Every), Keep: s.Backup.Keep, Dir: dir}
}

// runUpkeep performs due upkeep until the bot is closed.
func (b *bot) runUpkeep() {
	b.tasks.Go(func() {
		for {
			b.upkeepOnce()
			select {
			case <-time.After(upkeepEvery):
			case <-b.ctx.Done():
				return
			}
		}
	})
}

// upkeepOnce performs due upkeep. It logs one warning per incident.
func (b *bot) upkeepOnce() {
	err := b.store.Upkeep().Run(b.ctx, backupsOf(b.settings()), time.Now())
	switch {
	case b.ctx.Err() != nil: // the next start repeats what was interrupted
	case err != nil:
		b.log.Log(b.ctx, b.upkeepFailure.Begin(), "upkeep_failed", "error", err, "effect", "backups and the erasure of deleted text have to wait; both are retried")
	case b.upkeepFailure.End():
		b.log.Info("upkeep_works_again")
	}
}
