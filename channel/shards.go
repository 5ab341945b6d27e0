package channel

import (
	"context"
	"time"

	"cairn/store"
)

// Which processes receive from a platform. It consists of shards, Discord of several and any other of one, and each shard has one owner,
// which also owns the conversations whose events come over it. Processes claim free shards, each as many as the others, when one of
// them joins, stops or ends; no running process gives one away.

// Sharded is implemented by connectors whose platform has several shards. Such a connector gives its shards up itself, with Release.
type Sharded interface {
	// ShardOf returns over which shard the events of a conversation come.
	ShardOf(conversation string) int
}

// Shards are those of one platform. It is safe for concurrent use.
type Shards struct {
	fleet     *Fleet // nil: there are no other processes
	connector string
}

// ShardsOf returns the shards of a connector's platform; h may be nil.
func ShardsOf(h *Hub, connector string) Shards { return Shards{FleetOf(h), connector} }

// Divide has this process claim shards of the platform from now on. count is into how many it would divide it; it returns into how many
// other processes have.
func (s Shards) Divide(ctx context.Context, count int) (int, error) {
	if s.fleet == nil {
		return count, nil
	}
	divided, err := s.fleet.lease.Shards().Divide(ctx, s.connector, count)
	if err != nil {
		return 0, err
	}
	s.fleet.enter(s.connector, count)
	s.fleet.members.set() // what this process says of itself has changed, too
	return divided, nil
}

// Owned returns the shards that this process owns, ascending, and a channel that is closed when these may be others. alone reports
// that there can be no other processes, so that it has all shards.
func (s Shards) Owned() (owned []Shard, changed <-chan struct{}, alone bool) {
	if s.fleet == nil {
		return nil, nil, true
	}
	s.fleet.division.mu.Lock()
	defer s.fleet.division.mu.Unlock()
	if known := s.fleet.platforms[s.connector]; known != nil {
		owned = known.owned
	}
	return owned, s.fleet.changed, false
}

// Leaving is closed when this process stops and others are there to receive: what is Sharded closes its connections in a way that they can
// be continued, and calls Release.
func (s Shards) Leaving() <-chan struct{} {
	if s.fleet == nil {
		return nil
	}
	return s.fleet.leaves
}

// Save writes where other processes continue if this one fails, by the numbers of shards.
func (s Shards) Save(ctx context.Context, sessions map[int]string) error {
	if s.fleet == nil || len(sessions) == 0 {
		return nil
	}
	return s.fleet.lease.Shards().Save(ctx, s.connector, sessions)
}

// Release gives up the shards of this process, which must not receive any more; sessions are as in Save.
func (s Shards) Release(ctx context.Context, sessions map[int]string) error {
	return s.fleet.lease.Shards().Release(ctx, s.connector, sessions)
}

// TakeStart waits until no other process starts a session in a bucket of shards, and keeps others from it until EndStart, for at most
// so long.
func (s Shards) TakeStart(ctx context.Context, bucket int, most time.Duration) error {
	if s.fleet == nil {
		return nil
	}
	for {
		wait, err := s.fleet.lease.Shards().TakeStart(ctx, s.connector, bucket, most)
		if err != nil || wait == 0 {
			return err
		}
		select {
		case <-time.After(min(wait, pollEvery)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// EndStart lets the next session of a bucket start after a pause.
func (s Shards) EndStart(ctx context.Context, bucket int, pause time.Duration) error {
	if s.fleet == nil {
		return nil
	}
	return s.fleet.lease.Shards().EndStart(ctx, s.connector, bucket, pause)
}

// StandBy waits, after Enter, until this process is the one that answers on a platform of one shard.
func (f *Fleet) StandBy(ctx context.Context, connector string) error {
	if f == nil {
		return nil
	}
	return f.awaitShards(ctx, connector, func(known *platform) bool { return len(known.owned) > 0 })
}

// Enter has this process claim the one shard of a platform, and waits until StandsBy is known.
func (f *Fleet) Enter(ctx context.Context, connector string) error {
	if f == nil {
		return nil
	}
	for {
		_, err := Shards{f, connector}.Divide(ctx, 1)
		if err == nil {
			return f.awaitShards(ctx, connector, func(known *platform) bool { return known.tried })
		}
		f.hub.o.Log.Log(ctx, f.unclaimed.Begin(), "claim_shards_failed", "error", err)
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answersElsewhere reports whether another process owns the shard of a conversation of people, or its tasks, or is to.
func (f *Fleet) answersElsewhere(conversation string) bool {
	root, _ := store.RootOf(conversation)
	return f != nil && !f.receives(root)
}

// StandsBy reports whether another process receives over the first shard of a platform.
func (f *Fleet) StandsBy(connector string) bool { return f != nil && !f.owns(connector, 0) }

// OwnsNone reports whether this process has no shard of a platform, and another one can receive from it.
func (f *Fleet) OwnsNone(connector string) bool {
	if f == nil {
		return false
	}
	owned, _, _ := Shards{f, connector}.Owned()
	return len(owned) == 0 && f.othersReceive(connector)
}
