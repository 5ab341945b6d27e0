package channel

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cairn/internal/observe"
	"cairn/store"
)

// Which platforms, and which of their shards, are this process's.

// division is how the platforms are divided among the processes, as this one knows it. It is safe for concurrent use.
type division struct {
	hub   *Hub
	lease *store.Lease
	stops atomic.Bool // this process is to stop, and claims nothing
	free  signal      // shards may have become free

	mu        sync.Mutex           // guards below
	platforms map[string]*platform // from which the process can receive, by connector
	changed   chan struct{}        // closed when it owns other shards than before, or has tried to

	unclaimed observe.Incident // no shards can be claimed
}

func newDivision(hub *Hub, lease *store.Lease) *division {
	return &division{hub: hub, lease: lease, free: make(signal, 1), platforms: make(map[string]*platform), changed: make(chan struct{})}
}

// platform is what this process knows of a platform from which it can receive.
type platform struct {
	count int     // of its shards, as this process would divide it
	owned []Shard // by this process, ascending
	tried bool    // the process has tried to claim some

	failing  time.Time // since when it cannot be reached; zero: it can, or need not
	withheld bool      // this process has told others that it cannot receive
}

// enter notes that this process can receive from a platform, which it would divide into so many shards.
func (d *division) enter(connector string, count int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.platforms[connector] == nil {
		d.platforms[connector] = &platform{}
	}
	d.platforms[connector].count = count
}

// quit notes that this process does not receive from a platform any more.
func (d *division) quit(connector string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.platforms, connector)
}

// receives reports whether the events of a conversation of people come to this process. Where nobody says that only one process may
// receive, as in a browser, each does.
func (d *division) receives(conversation string) bool {
	return d.owns(connectorOf(conversation), d.shardOf(conversation))
}

func (d *division) shardOf(conversation string) int {
	if sharded, several := d.hub.connectors[connectorOf(conversation)].(Sharded); several {
		return sharded.ShardOf(conversation)
	}
	return 0
}

func (d *division) owns(connector string, number int) bool {
	if !d.isDivided(connector) {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.platforms[connector]
	return known != nil && slices.Contains(numbersOf(known.owned), number)
}

// isDivided reports whether a connector's platform is divided among processes.
func (d *division) isDivided(connector string) bool {
	return slices.ContainsFunc(d.lease.All(), func(p store.Process) bool {
		return slices.ContainsFunc(p.Connectors, func(on store.Account) bool { return on.Connector == connector && !on.Alone })
	})
}

func (d *division) awaitShards(ctx context.Context, connector string, holds func(*platform) bool) error {
	for {
		d.mu.Lock()
		known := d.platforms[connector]
		done := known != nil && holds(known)
		changed := d.changed
		d.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// othersReceive reports whether another process can receive from a platform, as far as this one knows.
func (d *division) othersReceive(connector string) bool {
	return slices.ContainsFunc(d.lease.All(), func(p store.Process) bool {
		return p.ID != d.lease.ID() && !p.Draining && slices.ContainsFunc(p.Connectors, func(on store.Account) bool {
			return on.Connector == connector && on.Shards != store.NotReady && !on.Alone
		})
	})
}
