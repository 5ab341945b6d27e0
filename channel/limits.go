package channel

import (
	"context"
	"errors"
	"time"

	"cairn/internal/observe"
	"cairn/store"
)

// What limits count of several processes, see access.Others.

// sharing has the limits of this process count with those of others. It is safe for concurrent use.
type sharing struct {
	hub    *Hub
	lease  *store.Lease
	chores func() bool // whether this process deletes what no longer counts

	failing observe.Incident // what limits count cannot be shared
}

// takeTurn counts a turn of each person who has one left in all processes, and reports whether there is one. A process that is alone
// counts in memory.
func (s *sharing) takeTurn(ctx context.Context, who []string, most int, span time.Duration) (ok bool, err error) {
	if len(s.lease.All()) < 2 {
		return true, nil
	}
	return store.LimitsOf(s.hub.o.Store).TakeTurn(ctx, who, most, span)
}

// shareEvery is how old what a process knows of the usage of others may be, and how long calls may be unknown to the next owner.
const shareEvery = time.Second

// share tells other processes what this one has counted, and reads what they have.
func (s *sharing) share(ctx context.Context) {
	swept := time.Now()
	for {
		select {
		case <-time.After(shareEvery):
		case <-ctx.Done():
			return
		}
		inTime, cancel := context.WithTimeout(ctx, LeaseLasts)
		err := errors.Join(s.saveCalls(inTime), s.shareSpending(inTime))
		if s.chores() && time.Since(swept) >= time.Minute {
			swept = time.Now()
			err = errors.Join(err, store.LimitsOf(s.hub.o.Store).Sweep(inTime))
		}
		cancel()
		switch {
		case err == nil:
			s.failing.End()
		case ctx.Err() == nil:
			s.hub.o.Log.Log(ctx, s.failing.Begin(), "share_limits_failed", "error", err)
		}
	}
}

// saveCalls writes the model calls of the last second, for the next owners of their conversations.
func (s *sharing) saveCalls(ctx context.Context) error {
	return s.hub.access.SaveCalls(func(made map[string]store.Counted) error { return store.LimitsOf(s.hub.o.Store).AddCalls(ctx, made) })
}

// shareSpending writes what this process has used, and reads what all have, if a budget limits that.
func (s *sharing) shareSpending(ctx context.Context) error {
	if !s.hub.access.Rules().Money.Limited() || len(s.lease.All()) < 2 {
		return nil
	}
	for _, c := range s.hub.list() {
		c.usage.flush(ctx)
	}
	return s.hub.access.Reread(func(since string) ([]store.Usage, error) { return store.LimitsOf(s.hub.o.Store).Spent(ctx, since) })
}

// restoreCalls makes the model calls of the last hour count that an earlier owner of a conversation, or of that above it, has made.
func (s *site) restoreCalls(ctx context.Context) error {
	if s.fleet == nil {
		return nil
	}
	made, err := store.LimitsOf(s.o.Store).Calls(ctx, s.account())
	if err == nil {
		s.calls().Restore(made)
	}
	return err
}
