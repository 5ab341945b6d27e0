package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/compactor"
	"cairn/memory"
)

const overheadHelp = `Overhead has turns in some channels, one after the other, with a model that answers at once,
and adds up the processor's time of the whole process, the kernel's share included: from the
delivery of a message to the reply on its way to people. Questions and answers are as long as
those of "bench cost"; in one turn of %d the model looks something up first. The windows are
the default, and channels that fill theirs are compacted meanwhile.

Then the rows that the turns have left behind are written into another database of the same
kind, in as many transactions, by plain statements that were prepared before: whoever keeps
what is said has to do this much. What the bot costs is the difference.

The target is less than %.0f µs for a turn; a run that misses it ends with 3.`

// overheadGoal is what a turn may cost beyond its writes, in microseconds.
const overheadGoal = 300.0

// weighing is what `overhead` is asked for.
type weighing struct {
	turns, channels int
	json            bool
}

func newOverhead(s *screen) *cobra.Command {
	var w weighing
	cmd := &cobra.Command{
		Use:   "overhead",
		Short: "What a turn costs the processor beside the model",
		Long:  fmt.Sprintf(overheadHelp, lookUpEvery, overheadGoal),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case w.turns < 1 || w.turns > 10_000_000:
				return wrongFlag(cmd, "turns", w.turns, "from 1 to 10000000")
			case w.channels < 1 || w.channels > 10_000:
				return wrongFlag(cmd, "channels", w.channels, "from 1 to 10000")
			}
			return w.run(cmd.Context(), s)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&w.turns, "turns", 10_000, "`N` turns in all")
	flags.IntVar(&w.channels, "channels", 20, "`N` channels by turns")
	flags.BoolVar(&w.json, "json", false, "write JSON")
	return cmd
}

// overhead is the whole result.
type overhead struct {
	Turns       int     `json:"turns"`
	Channels    int     `json:"channels"`
	Compactions int     `json:"compactions"`
	Turn        float64 `json:"turn_us"`   // processor's time
	Writes      float64 `json:"writes_us"` // of which by the writes alone
	Overhead    float64 `json:"overhead_us"`
	Load        string  `json:"load,omitempty"` // of the machine
	Target      goal    `json:"target"`
}

func (w weighing) run(ctx context.Context, s *screen) (err error) {
	defer s.done()
	dir, err := os.MkdirTemp("", "cairn-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	result := overhead{Turns: w.turns, Channels: w.channels}
	turns, err := w.talk(ctx, s, dir, &result)
	if err != nil {
		return err
	}
	s.progress("the same rows are written by plain statements")
	writes, err := plainWrites(ctx, memory.File(dir))
	if err != nil {
		return err
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(w.turns) }
	result.Turn, result.Writes, result.Load = each(turns), each(writes), busyMachine()
	result.Overhead = result.Turn - result.Writes
	result.Target = atMost("a turn's processor time beside its writes, in µs", result.Overhead, overheadGoal, overheadGoal)
	s.done()
	if w.json {
		err = s.json(result)
	} else {
		_, err = fmt.Fprint(s.out, result.table(s))
	}
	return errors.Join(err, unmet([]goal{result.Target}))
}

// talk has the turns, and returns what they cost.
func (w weighing) talk(ctx context.Context, s *screen, dir string, result *overhead) (cost time.Duration, err error) {
	store, err := memory.Open(ctx, memory.Options{Dir: dir})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	door, questions := newDoor(), talk(256, 1, 1, false)
	lines := linesOf(256, 1)
	made := uint64(0)
	hub := channel.New(channel.Options{
		Store: store, Doors: []channel.Door{door}, Log: silence,
		Agent: func(string) channel.Agent {
			made++
			a := &actor{window: fullWindow, lines: lines, dice: rand.New(rand.NewPCG(made, 1))}
			return channel.Agent{Model: a, Worker: a, MaxOutput: maxOutput, Policy: compactor.DefaultPolicy}
		},
	})
	defer func() { err = errors.Join(err, hub.Close()) }()
	begun := time.Duration(0)
	for n := -w.channels; n < w.turns; n++ { // the first of each opens it
		if n == 0 {
			begun = cpuTime()
		}
		name, id := fmt.Sprintf("bench:server/c%d", (n+w.channels)%w.channels), fmt.Sprint("m", n)
		m := channel.Inbound{ID: id, AuthorID: "1", Author: "Ada", Text: questions[(n+w.channels)%len(questions)].question.text, Time: time.Now(), Addressed: true}
		if _, err := hub.Deliver(ctx, name, m); err != nil {
			return 0, err
		}
		if err := hub.Idle(ctx, name); err != nil {
			return 0, err
		}
		s.progress("turn %s of %s", thousands(max(n, 0)), thousands(w.turns))
	}
	if err := hub.Drain(ctx); err != nil {
		return 0, err
	}
	cost = cpuTime() - begun
	door.mu.Lock()
	defer door.mu.Unlock()
	for _, n := range door.ended {
		result.Compactions += n
	}
	if len(door.sent) != w.turns+w.channels {
		err = fmt.Errorf("%d of %d turns were answered", len(door.sent), w.turns+w.channels)
	}
	return cost, errors.Join(err, door.failure)
}

// table is the result as people read it.
func (o overhead) table(s *screen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s turns in %d channels, %d compactions; a model that answers at once\n\n", s.paint(bold, "processor's time of a turn"),
		thousands(o.Turns), o.Channels, o.Compactions)
	for _, row := range []struct {
		name  string
		value float64
	}{{"with everything", o.Turn}, {"its writes alone", o.Writes}, {"the bot's share", o.Overhead}} {
		fmt.Fprintf(&b, "%s%s   %s\n", left(row.name, 20), s.paint(bold, right(fmt.Sprintf("%.0f µs", row.value), 10)), s.paint(cyan, bar(row.value, o.Turn, 40)))
	}
	fmt.Fprintf(&b, "\n%s\n", verdict(s, o.Target))
	return b.String()
}
