// This process among those that run the bot on one database.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/channel"
	"cairn/config"
	"cairn/store"
	"cairn/store/postgres"
)

// join adds this process to those that run the bot, on a database that several can use.
func (b *bot) join(ctx context.Context, connectors []channel.Connector) (*store.Lease, error) {
	if !b.store.Upkeep().OnServer() {
		return nil, nil
	}
	p := store.Process{Name: postgres.ProcessName(), Version: version(), Settings: config.Fingerprint(&b.started)}
	for _, c := range connectors {
		account, platform := c.(interface{ Account() string })
		on := store.Account{Connector: c.Name(), Alone: !platform}
		if platform {
			on.ID = account.Account()
			on.Shards = store.NotReady
		}
		p.Connectors = append(p.Connectors, on)
	}
	return b.store.Processes().Join(ctx, p, channel.LeaseLasts)
}

// hostName is the first part of the name of a process.
func hostName() string {
	host, _, _ := strings.Cut(postgres.ProcessName(), ":")
	return host
}

// watchMembership returns a context that also ends when others have ended this process, or somebody has asked it to stop, with that as its
// cause.
func (b *bot) watchMembership(ctx context.Context) context.Context {
	ctx, lose := context.WithCancelCause(ctx)
	member := channel.FleetOf(b.hub).Membership()
	context.AfterFunc(member, func() {
		if why := context.Cause(member); !errors.Is(why, context.Canceled) {
			lose(why)
		}
	})
	return ctx
}

// maxPatience is how long a process tries at most to reach a platform before it leaves that to others. It doubles each time, in case
// none of them can.
const maxPatience = time.Hour

// run runs the bot, and again each time that others have ended this process because it was frozen or cut off from the database, or that
// it has left to others what it could not reach.
func (a *app) run(ctx context.Context) error {
	for {
		began := time.Now()
		err := a.runOnce(ctx)
		switch {
		case errors.Is(err, channel.ErrDrained):
			return nil
		case !errors.Is(err, store.ErrEnded) && !errors.Is(err, channel.ErrUnreachable):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		if time.Since(began) > 2*maxPatience {
			a.patience = 0
		}
		if errors.Is(err, channel.ErrUnreachable) {
			a.patience = min(2*cmp.Or(a.patience, channel.DefaultPatience), maxPatience)
		}
	}
}

// publish tells other processes the hash of the settings.
func (b *bot) publish(settings string) {
	b.tasks.Go(func() {
		if err := channel.FleetOf(b.hub).Publish(b.ctx, settings); err != nil && b.ctx.Err() == nil {
			b.log.Warn("publish_settings_failed", "effect", "metrics and doctor compare the settings from before", "error", err)
		}
	})
}

// drain asks other processes to stop, and returns when they have.
func (a *app) drain(ctx context.Context, name string) error {
	return a.withSharedStore(ctx, func(db *store.Store) error {
		if !db.Upkeep().OnServer() {
			return usage(errors.New("--drain is for processes that share a database in PostgreSQL; stop this bot with SIGTERM"))
		}
		asked, err := db.Processes().Drain(ctx, name)
		if err != nil {
			return err
		}
		if asked == 0 {
			return fmt.Errorf("%w: no process of the bot has the name %s; `cairn doctor` lists them", store.ErrNotFound, name)
		}
		for {
			all, err := db.Processes().List(ctx)
			if err != nil {
				return err
			}
			left := slices.ContainsFunc(all, func(p store.Process) bool { return p.Draining && p.Left > 0 && p.Is(name) }) // one that was killed is over with its lease
			if !left {
				fmt.Fprintf(a.out, "%s stopped: %d\n", name, asked)
				return nil
			}
			select {
			case <-time.After(drainPoll):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
}

const drainPoll = 100 * time.Millisecond
