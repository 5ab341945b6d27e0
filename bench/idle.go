package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"cairn/channel"
	"cairn/compactor"
	"cairn/memory"
)

const idleHelp = `Idle opens many channels, has a turn in each, and looks by how much the memory of the process
has grown when all are silent: objects and stacks that are in use, and what of the process is in
the machine's memory after Go has given back what it does not need. After %v of silence a
channel leaves memory whole; "bench load" looks that nothing is left of it.

The target is less than %.0f KB for a silent channel; a run that misses it ends with 3.`

// idleGoal is what an open and silent channel may take, in kilobytes.
const idleGoal = 30.0

// idling is what "idle" is asked for.
type idling struct {
	channels int
	json     bool
}

func newIdle(s *screen) *cobra.Command {
	var o idling
	cmd := &cobra.Command{
		Use:   "idle",
		Short: "How much memory a silent channel takes",
		Long:  fmt.Sprintf(idleHelp, channel.DefaultIdle, idleGoal),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.channels < 1 || o.channels > 1_000_000 {
				return wrongFlag(cmd, "channels", o.channels, "from 1 to 1000000")
			}
			return o.run(cmd.Context(), s)
		},
	}
	cmd.Flags().IntVar(&o.channels, "channels", 10_000, "`N` channels")
	cmd.Flags().BoolVar(&o.json, "json", false, "write JSON")
	return cmd
}

// idle is the whole result, in kilobytes for a channel.
type idle struct {
	Channels int     `json:"channels"`
	Open     float64 `json:"open_kb"`          // objects and stacks
	Resident float64 `json:"open_resident_kb"` // of the process in the machine's memory
	Target   goal    `json:"target"`
}

func (o idling) run(ctx context.Context, s *screen) error {
	defer s.done()
	result, err := o.measure(ctx, s)
	if err != nil {
		return err
	}
	s.done()
	if o.json {
		err = s.json(result)
	} else {
		_, err = fmt.Fprint(s.out, result.table(s))
	}
	return errors.Join(err, unmet([]goal{result.Target}))
}

func (o idling) measure(ctx context.Context, s *screen) (result idle, err error) {
	dir, err := os.MkdirTemp("", "cairn-bench-")
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := memory.Open(ctx, memory.Options{Dir: dir})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	a := &actor{window: fullWindow, lines: linesOf(16, chatScale), incurious: true, dice: rand.New(rand.NewPCG(1, 1))}
	door := newDoor()
	hub := channel.New(channel.Options{
		Store: store, Doors: []channel.Door{door}, Log: silence, Idle: time.Hour,
		Agent: func(string) channel.Agent {
			return channel.Agent{Model: a, Worker: a, MaxOutput: maxOutput, Policy: compactor.DefaultPolicy}
		},
	})
	defer func() { err = errors.Join(err, hub.Close()) }()
	if err := greet(ctx, s, hub, "first", 100); err != nil { // what is made once is there then
		return result, err
	}
	use, resides := living(), settled()
	if err := greet(ctx, s, hub, "c", o.channels); err != nil {
		return result, err
	}
	err = door.until(ctx, func() bool {
		all := len(door.sent) == 100+o.channels
		if all {
			door.sent = map[string]time.Time{} // it is ours
		}
		return all
	})
	each := func(now, then uint64) float64 { return (float64(now) - float64(then)) / 1000 / float64(o.channels) }
	result = idle{Channels: o.channels, Open: each(living(), use), Resident: each(settled(), resides)}
	result.Target = atMost("KB of a silent channel", result.Open, idleGoal, idleGoal)
	return result, err
}

// greet has a turn in each of n channels, some at once.
func greet(ctx context.Context, s *screen, hub *channel.Hub, kind string, n int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(deliverers)
	for i := range n {
		group.Go(func() error {
			s.progress("%s of %s channels are open", thousands(i), thousands(n))
			name := fmt.Sprintf("bench:server/%s%d", kind, i)
			m := channel.Inbound{ID: kind + fmt.Sprint(i), AuthorID: "1", Author: "Ada", Text: "Good morning! What is new?", Time: time.Now(), Addressed: true}
			if _, err := hub.Deliver(ctx, name, m); err != nil {
				return err
			}
			return hub.Idle(ctx, name)
		})
	}
	return group.Wait()
}

// settled is resident once Go has given back what it does not need.
func settled() uint64 {
	debug.FreeOSMemory()
	return resident()
}

// table is the result as people read it.
func (i idle) table(s *screen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s channels, each with one turn\n\n", s.paint(bold, "memory of a silent channel"), thousands(i.Channels))
	fmt.Fprintf(&b, "%s%s\n", left("objects and stacks", 24), s.paint(bold, right(fmt.Sprintf("%.1f KB", i.Open), 10)))
	fmt.Fprintf(&b, "%s%s\n\n%s\n", left("in the machine's memory", 24), right(fmt.Sprintf("%.1f KB", i.Resident), 10), verdict(s, i.Target))
	return b.String()
}
