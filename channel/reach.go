package channel

import (
	"context"
	"errors"
	"time"
)

// How a process leaves a platform that it cannot reach to one that can: it tells others that it cannot receive, stops if one of them can,
// and starts again. Once the platform has answered, it tells them that it can.

// DefaultPatience is how long a process tries to reach a platform before it leaves that to others.
const DefaultPatience = 30 * time.Second

// ErrUnreachable is the cause of the end of a membership because a platform cannot be reached from here, and others are there.
var ErrUnreachable = errors.New("this process cannot reach a platform, and others may")

// Reacher is implemented by connectors that know whether attempts to connect fail.
type Reacher interface {
	// Unreachable reports whether no connection to the platform is up, and the latest attempts have failed.
	Unreachable() bool
}

// watchPlatforms looks after the connections of this process.
func (f *Fleet) watchPlatforms(ctx context.Context) {
	for {
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return
		}
		for _, connector := range f.ready() {
			f.watchPlatform(ctx, connector)
		}
	}
}

func (f *Fleet) watchPlatform(ctx context.Context, connector string) {
	reacher, knows := f.hub.connectors[connector].(Reacher)
	if !knows {
		return
	}
	now, exists := f.noteReach(connector, reacher.Unreachable() && f.MayAct()) // without a lease, its own connections may be closed
	lasts := time.Since(now.failing)
	ctx, cancel := context.WithTimeout(ctx, LeaseLasts)
	defer cancel()
	var err error
	switch {
	case !exists || f.stops.Load():
	case now.failing.IsZero() && now.withheld:
		_, err = Shards{f, connector}.Divide(ctx, now.count)
		f.noteWithheld(connector, err != nil)
	case now.failing.IsZero():
	case lasts >= f.hub.o.Patience/3 && !now.withheld:
		err = f.lease.Shards().Withhold(ctx, connector)
		f.noteWithheld(connector, err == nil)
	case lasts >= f.hub.o.Patience && len(now.owned) > 0 && f.othersReceive(connector):
		f.hub.o.Log.Warn("platform_unreachable", "connector", connector, "effect", "another process takes over, and this one starts again")
		f.deposed(ErrUnreachable)
	}
	if err != nil {
		f.hub.o.Log.Debug("tell_readiness_failed", "connector", connector, "error", err)
	}
}

// noteReach notes whether a platform cannot be reached, and returns what is known of it.
func (d *division) noteReach(connector string, unreachable bool) (now platform, exists bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.platforms[connector]
	switch {
	case known == nil:
		return now, false
	case !unreachable || len(known.owned) == 0 && !d.isShared(connector): // who stands by has no connection
		known.failing = time.Time{}
	case known.failing.IsZero():
		known.failing = time.Now()
	}
	return *known, true
}

// isShared reports whether each process has a connection to a platform.
func (d *division) isShared(connector string) bool {
	_, shared := d.hub.connectors[connector].(Shared)
	return shared
}

// noteWithheld notes whether others know that this process cannot receive from a platform.
func (d *division) noteWithheld(connector string, withheld bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.platforms[connector]; known != nil {
		known.withheld = withheld
	}
}

// failingPlatforms returns the connectors whose platforms cannot be reached.
func (d *division) failingPlatforms() (connectors []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for connector, known := range d.platforms {
		if !known.failing.IsZero() {
			connectors = append(connectors, connector)
		}
	}
	return connectors
}
