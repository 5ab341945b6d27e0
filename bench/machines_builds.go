package main

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"time"
)

// builds are two programs of different commits, or the same one twice.
type builds struct {
	now  string // the path of what the processes run
	next string // and of what they run after an upgrade
}

// chooseBuilds makes the schema, and decides which program the processes run first: the one of --with, unless it is newer than this one.
func (r *fleetRun) chooseBuilds(ctx context.Context, address string) error {
	own := filepath.Join(r.dir, "machine0", "cairn")
	r.builds = builds{own, own}
	if err := makeSchema(ctx, address); err != nil || r.o.with == "" {
		return err
	}
	other, err := filepath.Abs(r.o.with)
	if err != nil {
		return err
	}
	ours, err := r.guard.version(ctx)
	if err != nil {
		return err
	}
	if err := r.guard.remove(ctx); err != nil {
		return err
	}
	makes := r.machines[0].calls(ctx, other, "chat") // without input
	if said, err := makes.CombinedOutput(); err != nil {
		return fmt.Errorf("--with: %w: %s", err, said)
	}
	theirs, err := r.guard.version(ctx)
	if err != nil {
		return err
	}
	r.builds = builds{other, own}
	if theirs > ours {
		r.builds = builds{own, other}
		if err := r.guard.remove(ctx); err != nil {
			return err
		}
		err = makeSchema(ctx, address)
	}
	for _, m := range r.machines {
		m.change(r.builds.now)
	}
	return err
}

// betweenUpgrades is the pause between the upgrades of two processes: each takeover reads the history of busy channels, and platforms limit
// how fast.
func (r *fleetRun) betweenUpgrades() time.Duration {
	return min(between/3, time.Duration(r.o.minutes*float64(time.Minute))/20)
}

// upgradeLasts is about how long the upgrade of all processes takes.
func (r *fleetRun) upgradeLasts() time.Duration {
	return time.Duration(len(r.machines)) * (r.betweenUpgrades() + 2*time.Second)
}

// upgrade replaces the program of all processes, one after another, by the other build. The next upgrade goes back, unless this one has
// changed the tables.
func (r *fleetRun) upgrade(ctx context.Context) error {
	before, err := r.guard.version(ctx)
	if err != nil {
		return err
	}
	for _, m := range r.machines {
		m.change(r.builds.next)
		if err := m.end(ctx, syscall.SIGTERM, 2*shutdown); err != nil {
			return err
		}
		if err := r.await(ctx, len(r.machines)); err != nil {
			return err
		}
		if err := sleep(ctx, r.betweenUpgrades()); err != nil {
			return err
		}
	}
	after, err := r.guard.version(ctx)
	if before == after {
		r.builds = builds{r.builds.next, r.builds.now}
	} else {
		r.builds.now = r.builds.next
	}
	return err
}
