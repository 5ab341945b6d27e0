// This process among those that run the bot on one database.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"cairn/channel"
	"cairn/store"
)

// join adds this process to those that run the bot, on a database that several can use.
func (b *bot) join(ctx context.Context, connectors []channel.Connector) (*store.Lease, error) {
	if !b.store.Upkeep().OnServer() {
		return nil, nil
	}
	p := store.Process{Name: processName(), Version: version()}
	for _, c := range connectors {
		account, platform := c.(interface{ Account() string })
		on := store.Account{Connector: c.Name(), Alone: !platform}
		if platform {
			on.ID = account.Account()
		}
		p.Connectors = append(p.Connectors, on)
	}
	return b.store.Join(ctx, p, channel.LeaseLasts)
}

// processName names this process for people, as its connections to PostgreSQL do.
func processName() string { return fmt.Sprintf("%s:%d", hostName(), os.Getpid()) }

func hostName() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return host
}

// watchMembership calls lose when others have ended this process, or somebody has asked it to stop.
func (b *bot) watchMembership(lose context.CancelCauseFunc) {
	member := b.hub.Membership()
	context.AfterFunc(member, func() {
		if why := context.Cause(member); !errors.Is(why, context.Canceled) {
			lose(why)
		}
	})
}

// run runs the bot, and again each time that others have ended this process because it was frozen or cut off from the database.
func (a *app) run(ctx context.Context) error {
	for {
		err := a.runOnce(ctx)
		switch {
		case errors.Is(err, channel.ErrDrained):
			return nil
		case !errors.Is(err, store.ErrEnded) || ctx.Err() != nil:
			return err
		}
	}
}
