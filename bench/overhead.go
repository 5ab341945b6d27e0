package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/compactor"
	"cairn/memory"
)

const overheadHelp = `Overhead has turns in some channels, one after the other, with a model that answers at once,
and adds up the processor's time of the whole process, the kernel's share included: from the
delivery of a message to the reply on its way to people. Questions and answers are a quarter as
long as those of "bench cost", some 25 and 75 words in the mean, as people chat, and nothing
is looked up. With the default of turns and channels no window is so full that it is compacted;
what that costs "bench load" shows.

Then the rows that the turns have left behind are written into another database of the same
kind, in as many transactions, by plain statements that were prepared before, on one
connection: whoever keeps what is said has to do this much. What the bot costs is the
difference. Both are done by turns, in %d parts, and the medians of these count.

The files lie in memory, in /dev/shm, where there is such a folder with room and TMPDIR
names no other. On a disk each transaction waits several times, and what is computed after a wait
costs more than it would without, so that the bot's share is half as much again, and the
parts differ by as much.

The target is less than %.0f µs for a turn; a run that misses it ends with 3.`

// overheadGoal is what a turn may cost beyond its writes, in microseconds.
const overheadGoal = 300.0

// chatScale makes texts of those of "bench cost" that are as long as people chat.
const chatScale = 0.25

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
		Long:  fmt.Sprintf(overheadHelp, rounds, overheadGoal),
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
	flags.IntVar(&w.channels, "channels", 40, "`N` channels by turns")
	flags.BoolVar(&w.json, "json", false, "write JSON")
	return cmd
}

// overhead is the whole result.
type overhead struct {
	Turns    int     `json:"turns"`
	Channels int     `json:"channels"`
	Turn     float64 `json:"turn_us"`   // processor's time
	Writes   float64 `json:"writes_us"` // of which by the writes alone
	Overhead float64 `json:"overhead_us"`
	Load     string  `json:"load,omitempty"` // of the machine
	Files    string  `json:"files"`          // the folder they lay in
	Target   goal    `json:"target"`
}

func (w weighing) run(ctx context.Context, s *screen) (err error) {
	defer s.done()
	o, err := w.weigh(ctx, s)
	if err != nil {
		return err
	}
	s.done()
	if w.json {
		err = s.json(o)
	} else {
		_, err = fmt.Fprint(s.out, o.table(s))
	}
	return errors.Join(err, unmet([]goal{o.Target}))
}

// rounds is into how many parts the turns are cut: after each of them its rows are
// written again, so that both meet the same machine. The medians count.
const rounds = 20

// weigh measures.
func (w weighing) weigh(ctx context.Context, s *screen) (o overhead, err error) {
	f, err := openTalkers(ctx, w.channels)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := f.talk(ctx, 1+w.channels); err != nil { // each channel is open then
		return o, err
	}
	c, err := newCopyist(ctx, memory.File(f.dir))
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	var turns, writes, differences []time.Duration
	for done := 0; done < w.turns; {
		n := min(max(w.turns/rounds, 1), w.turns-done)
		runtime.GC()
		begun := cpuTime()
		if err := f.talk(ctx, n); err != nil {
			return o, err
		}
		turn := (cpuTime() - begun) / time.Duration(n)
		write, err := c.copy(ctx)
		if err != nil {
			return o, err
		}
		write /= time.Duration(n)
		turns, writes, differences = append(turns, turn), append(writes, write), append(differences, turn-write)
		done += n
		s.progress("turn %s of %s: %v, of which %v for the writes", thousands(done), thousands(w.turns), turn, write)
	}
	us := func(all []time.Duration) float64 { return 1000 * quantile(all, 0.5) }
	o = overhead{Turns: w.turns, Channels: w.channels, Turn: us(turns), Writes: us(writes), Overhead: us(differences), Load: busyMachine(), Files: filepath.Dir(f.dir)}
	o.Target = atMost("a turn's processor time beside its writes, in µs", o.Overhead, overheadGoal, overheadGoal)
	return o, nil
}

// talkers are people in some channels of a bot whose model answers at once.
type talkers struct {
	dir       string
	store     *memory.Store
	hub       *channel.Hub
	door      *door
	channels  int
	questions []turn
	n         int // questions so far
}

func openTalkers(ctx context.Context, channels int) (f *talkers, err error) {
	f = &talkers{door: newDoor(), channels: channels, questions: talk(256, 1, chatScale, false)}
	if f.dir, err = os.MkdirTemp(inMemory(), "cairn-bench-"); err != nil {
		return nil, err
	}
	if f.store, err = memory.Open(ctx, memory.Options{Dir: f.dir}); err != nil {
		return nil, errors.Join(err, os.RemoveAll(f.dir))
	}
	lines := linesOf(256, chatScale)
	var made atomic.Uint64
	f.hub = channel.New(channel.Options{
		Store: f.store, Doors: []channel.Door{f.door}, Log: silence,
		Agent: func(string) channel.Agent {
			a := &actor{window: fullWindow, lines: lines, incurious: true, dice: rand.New(rand.NewPCG(made.Add(1), 1))}
			return channel.Agent{Model: a, Worker: a, MaxOutput: maxOutput, Policy: compactor.DefaultPolicy}
		},
	})
	return f, nil
}

// inMemory is a folder that lies on no disk; "", the one for temporary files, where there
// is none with room, as in most containers, or somebody wants another.
func inMemory() string {
	const folder, room = "/dev/shm", 1 << 30 // bytes
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(folder, &fs) != nil || uint64(fs.Bavail)*uint64(fs.Bsize) < room {
		return ""
	}
	return folder
}

func (f *talkers) close() error {
	return errors.Join(f.hub.Close(), f.store.Close(), os.RemoveAll(f.dir))
}

// talk has n turns, one after the other, in the channels by turns.
func (f *talkers) talk(ctx context.Context, n int) error {
	for range n {
		f.n++
		name, id := fmt.Sprintf("bench:server/c%d", f.n%f.channels), fmt.Sprint("m", f.n)
		m := channel.Inbound{ID: id, AuthorID: "1", Author: "Ada", Text: f.questions[f.n%len(f.questions)].question.text, Time: time.Now(), Addressed: true}
		if _, err := f.hub.Deliver(ctx, name, m); err != nil {
			return err
		}
		if err := f.hub.Idle(ctx, name); err != nil {
			return err
		}
	}
	f.door.mu.Lock()
	defer f.door.mu.Unlock()
	if len(f.door.sent) != f.n && f.door.failure == nil {
		return fmt.Errorf("%d of %d turns were answered", len(f.door.sent), f.n)
	}
	return f.door.failure
}

// table is the result as people read it.
func (o overhead) table(s *screen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s turns in %d channels, with a model that answers at once; files in %s\n\n", s.paint(bold, "processor's time of a turn"),
		thousands(o.Turns), o.Channels, o.Files)
	for _, row := range []struct {
		name  string
		value float64
	}{{"with everything", o.Turn}, {"its writes alone", o.Writes}, {"the bot's share", o.Overhead}} {
		fmt.Fprintf(&b, "%s%s   %s\n", left(row.name, 20), s.paint(bold, right(fmt.Sprintf("%.0f µs", row.value), 10)), s.paint(cyan, bar(row.value, o.Turn, 40)))
	}
	fmt.Fprintf(&b, "\n%s\n", verdict(s, o.Target))
	return b.String()
}
