// Upkeep: a running bot backs up its database, and erases deleted text from the files.
package main

import (
	"cmp"
	"path/filepath"
	"time"

	"cairn/config"
	"cairn/memory"
)

// upkeepEvery is how often the bot looks whether something is due. The quietest hour is an
// hour long, so that no look misses it.
const upkeepEvery = 5 * time.Minute

// backups says where and how often the bot backs up its database.
func (a *app) backups() memory.Backups { return backupsOf(&a.settings) }

func backupsOf(s *config.Settings) memory.Backups {
	dir := cmp.Or(s.Path(s.Backup.Dir), filepath.Join(s.DataDir, memory.BackupsName))
	return memory.Backups{Every: time.Duration(s.Backup.Every), Keep: s.Backup.Keep, Dir: dir}
}

// keepUp does what is due now and then, until the bot is closed.
func (b *bot) keepUp() {
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

// upkeepOnce logs a failure once, until it ends.
func (b *bot) upkeepOnce() {
	err := b.store.Upkeep().Run(b.ctx, backupsOf(&b.current.Load().settings), time.Now())
	switch {
	case b.ctx.Err() != nil: // what was cut short is done at the next start
	case err != nil:
		b.log.Log(b.ctx, b.upkeep.Begin(), "upkeep_failed", "error", err, "effect", "backups and the erasure of deleted text wait; both are tried again")
	case b.upkeep.End():
		b.log.Info("upkeep_works_again")
	}
}
