package channel

import (
	"context"
	"errors"
	"slices"
	"time"
)

// How this process claims the shards of platforms.

// claim claims shards whenever some may be free.
func (d *division) claim(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-d.free:
		case <-ctx.Done():
			return
		}
		var failed error
		for _, connector := range d.ready() {
			failed = errors.Join(failed, d.claimPart(ctx, connector))
		}
		switch {
		case failed == nil:
			d.unclaimed.End()
		case ctx.Err() == nil:
			d.hub.o.Log.Log(ctx, d.unclaimed.Begin(), "claim_shards_failed", "error", failed)
		}
	}
}

// ready returns the platforms of which this process claims shards.
func (d *division) ready() (connectors []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for connector := range d.platforms {
		connectors = append(connectors, connector)
	}
	return connectors
}

// claimPart claims free shards of a platform until this process has its part.
func (d *division) claimPart(ctx context.Context, connector string) error {
	all, err := d.shards(ctx, connector)
	if err != nil {
		return err
	}
	part, known := d.part(connector, len(all))
	if !known {
		return nil
	}
	isFree := func(s Shard) bool { return s.Free }
	isOwn := func(s Shard) bool { return s.Owner == d.lease.ID() }
	most := part - count(all, isOwn)
	if most > 0 && slices.ContainsFunc(all, isFree) && !d.stops.Load() {
		err := d.lease.Shards().Claim(ctx, connector, most)
		if err == nil {
			all, err = d.shards(ctx, connector)
		}
		if err != nil {
			return err
		}
	}
	d.note(connector, slices.DeleteFunc(all, func(s Shard) bool { return !isOwn(s) }))
	return nil
}

func (d *division) shards(ctx context.Context, connector string) ([]Shard, error) {
	all, err := d.hub.o.Store.Processes().ListShards(ctx)
	return slices.DeleteFunc(all, func(s Shard) bool { return s.Connector != connector }), err
}

func count(all []Shard, of func(Shard) bool) (n int) {
	for _, one := range all {
		if of(one) {
			n++
		}
	}
	return n
}

// part returns how many of a platform's shards this process should own: as many as each other one that can receive now. It is not
// known before the other processes know that this one can.
func (d *division) part(connector string, shards int) (part int, known bool) {
	receivers := 0
	for _, p := range d.lease.All() {
		for _, on := range p.Connectors {
			switch {
			case on.Connector != connector || p.Draining:
			case on.Shards == 0: // of a version that receives everything
				return 0, true
			case on.Shards > 0:
				receivers++
				known = known || p.ID == d.lease.ID()
			}
		}
	}
	if !known {
		return 0, false
	}
	return (shards + receivers - 1) / receivers, true
}

// note notes which shards of a platform this process owns, and continues the conversations of those that are new.
func (d *division) note(connector string, owned []Shard) {
	now := numbersOf(owned)
	d.mu.Lock()
	known := d.platforms[connector]
	if known == nil { // it has left the platform
		d.mu.Unlock()
		return
	}
	before := numbersOf(known.owned)
	first := !known.tried
	known.owned = owned
	known.tried = true
	if first || !slices.Equal(before, now) {
		close(d.changed)
		d.changed = make(chan struct{})
	}
	d.mu.Unlock()
	gained := slices.DeleteFunc(slices.Clone(now), func(number int) bool { return slices.Contains(before, number) })
	switch {
	case first && len(now) == 0:
		d.hub.o.Log.Info("standing_by", "connector", connector)
	case !first && len(gained) > 0:
		d.hub.o.Log.Info("taking_over", "connector", connector, "shards", gained)
	}
	if len(gained) > 0 {
		d.hub.goroutines.start(func() { d.recover(d.hub.life, connector, gained) })
	}
}

func numbersOf(shards []Shard) (numbers []int) {
	for _, s := range shards {
		numbers = append(numbers, s.Number)
	}
	return numbers
}

// recover continues what was left in the conversations of shards.
func (d *division) recover(ctx context.Context, connector string, shards []int) {
	of := func(conversation string) bool {
		return connectorOf(conversation) == connector && slices.Contains(shards, d.shardOf(conversation))
	}
	for ctx.Err() == nil {
		err := d.hub.Recover(ctx, of)
		if err == nil || errors.Is(err, ErrClosed) {
			return
		}
		d.hub.o.Log.Debug("recover_failed", "connector", connector, "error", err)
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
		}
	}
}
