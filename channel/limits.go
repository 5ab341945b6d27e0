package channel

import (
	"context"
	"errors"
	"time"

	"cairn/store"
)

// What limits count of several processes, see access.Others.

// takeTurn counts a turn of each person who has one left in all processes, and reports whether there is one. A process that is alone
// counts in memory.
func (f *Fleet) takeTurn(ctx context.Context, who []string, most int, span time.Duration) (ok bool, err error) {
	if len(f.lease.All()) < 2 {
		return true, nil
	}
	return store.LimitsOf(f.hub.o.Store).TakeTurn(ctx, who, most, span)
}

// shareEvery is how old what a process knows of the usage of others may be, and how long calls may be unknown to the next owner.
const shareEvery = time.Second

// share tells other processes what this one has counted, and reads what they have.
func (f *Fleet) share(ctx context.Context) {
	swept := time.Now()
	for {
		select {
		case <-time.After(shareEvery):
		case <-ctx.Done():
			return
		}
		inTime, cancel := context.WithTimeout(ctx, LeaseLasts)
		err := errors.Join(f.saveCalls(inTime), f.shareSpending(inTime))
		if f.DoesChores() && time.Since(swept) >= time.Minute {
			swept = time.Now()
			err = errors.Join(err, store.LimitsOf(f.hub.o.Store).Sweep(inTime))
		}
		cancel()
		switch {
		case err == nil:
			f.unshared.End()
		case ctx.Err() == nil:
			f.hub.o.Log.Log(ctx, f.unshared.Begin(), "share_limits_failed", "error", err)
		}
	}
}

// saveCalls writes the model calls of the last second, for the next owners of their conversations.
func (f *Fleet) saveCalls(ctx context.Context) error {
	return f.hub.access.SaveCalls(func(made map[string]store.Counted) error { return store.LimitsOf(f.hub.o.Store).AddCalls(ctx, made) })
}

// shareSpending writes what this process has used, and reads what all have, if a budget limits that.
func (f *Fleet) shareSpending(ctx context.Context) error {
	if !f.hub.access.Rules().Money.Limited() || len(f.lease.All()) < 2 {
		return nil
	}
	for _, c := range f.hub.list() {
		c.usage.flush(ctx)
	}
	return f.hub.access.Reread(func(since string) ([]store.Usage, error) { return store.LimitsOf(f.hub.o.Store).Spent(ctx, since) })
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
