package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/channel"
)

const idleHelp = `Idle opens many channels, runs a turn in each, and measures how much the memory of the process grew
once all are idle: live objects and stacks, and resident memory after Go has returned unused pages.
After %v of silence, the bot evicts a channel from memory; "bench load" checks that nothing of it
remains. The target is less than %.0f KB per idle channel.`

// idleGoal is the limit for an open, idle channel, in kilobytes.
const idleGoal = 30.0

func newIdle() *benchmark {
	var channels int
	help := fmt.Sprintf(idleHelp, channel.DefaultIdle, idleGoal)
	b := newBenchmark("idle", "Measure the memory of an idle channel", help, func(ctx context.Context, s *screen, _ []string) (result, error) {
		return measureIdle(ctx, s, channels)
	})
	b.integer(&channels, "channels", 10_000, 1, 1_000_000, "`N` channels")
	return b
}

// idle is the result, in kilobytes per channel.
type idle struct {
	Channels int     `json:"channels"`
	Open     float64 `json:"open_kb"`          // objects and stacks
	Resident float64 `json:"open_resident_kb"` // resident memory of the process
	targets
}

func measureIdle(ctx context.Context, s *screen, channels int) (r idle, err error) {
	a := &actor{window: fullWindow, lines: linesOf(16, chatScale), incurious: true, dice: rand.New(rand.NewPCG(1, 1))}
	b, err := openBot(ctx, "", channel.Options{Idle: time.Hour, Agent: func(string) channel.Agent { return agentOf(a, a) }})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := greet(ctx, s, b.hub, "first", 100); err != nil { // so that one-time allocations are not counted
		return r, err
	}
	use := living()
	resides := settled()
	if err := greet(ctx, s, b.hub, "c", channels); err != nil {
		return r, err
	}
	err = b.connector.until(ctx, func() bool {
		all := len(b.connector.replies) == 100+channels
		if all {
			b.connector.replies = map[string]reply{} // do not count the bench's own memory
		}
		return all
	})
	each := func(now, then uint64) float64 { return (float64(now) - float64(then)) / 1000 / float64(channels) }
	r = idle{Channels: channels, Open: each(living(), use), Resident: each(settled(), resides)}
	r.Targets = []goal{atMost("KB of a silent channel", r.Open, idleGoal)}
	return r, err
}

// greet runs a turn in each of n channels, several at a time.
func greet(ctx context.Context, s *screen, hub *channel.Hub, kind string, n int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(deliverers)
	for i := range n {
		group.Go(func() error {
			s.progress("%s of %s channels are open", thousands(i), thousands(n))
			name := fmt.Sprintf("bench:server/%s%d", kind, i)
			if _, err := hub.Deliver(ctx, name, addressedNow(kind+fmt.Sprint(i), "Good morning! What is new?")); err != nil {
				return err
			}
			return hub.Idle(ctx, name)
		})
	}
	return group.Wait()
}

// settled returns the resident memory after Go has returned unused memory.
func settled() uint64 {
	debug.FreeOSMemory()
	return resident()
}
