package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"cairn/channel"
)

const overheadHelp = `Overhead runs turns in some channels, one after the other, with a model that answers at once, and
adds up the processor time of the process, kernel included, from the delivery of a message to the
reply. Texts are a quarter as long as in "bench cost", no tool is used, and with the default flags
nothing is compacted.

Then as many turns of the same texts are written to another database by the store alone: whoever
keeps a conversation has to do this much. The difference is what the rest of the bot costs. Both
alternate, in %d rounds, and the medians count.

The files are in /dev/shm if it exists, has room, and TMPDIR names no other folder: on a disk every
transaction waits, and what is computed after a wait costs up to half as much again.

The target is less than %.0f µs for a turn; a run that misses it ends with 3.`

// overheadGoal is what a turn may cost beyond what the store takes for it, in microseconds.
const overheadGoal = 170.0

// chatScale makes texts of those of "bench cost" that are as long as people chat.
const chatScale = 0.25

// weighing is what "overhead" is asked for.
type weighing struct{ turns, channels int }

func newOverhead() *benchmark {
	var w weighing
	help := fmt.Sprintf(overheadHelp, rounds, overheadGoal)
	b := newBenchmark("overhead", "What a turn costs the processor, its writes left out", help, func(ctx context.Context, s *screen, _ string) (result, error) {
		return w.weigh(ctx, s)
	})
	b.integer(&w.turns, "turns", 10_000, 1, 10_000_000, "`N` turns in all")
	b.integer(&w.channels, "channels", 40, 1, 10_000, "`N` channels by turns")
	b.quick = "--turns 2000"
	return b
}

// overhead is the whole result.
type overhead struct {
	Turns    int     `json:"turns"`
	Channels int     `json:"channels"`
	Turn     float64 `json:"turn_us"`   // processor's time
	Writes   float64 `json:"writes_us"` // of one that is only stored
	Overhead float64 `json:"overhead_us"`
	Load     string  `json:"load,omitempty"` // of the machine
	Files    string  `json:"files"`          // the folder they lay in
	targets
}

// rounds is into how many parts the turns are cut: after each of them as many are stored
// alone, so that both meet the same machine. The medians count.
const rounds = 20

// cpuOf is the processor's time for each of n turns.
func cpuOf(ctx context.Context, n int, do func(ctx context.Context, n int) error) (time.Duration, error) {
	runtime.GC() // what was left before is none of its business
	begun := cpuTime()
	err := do(ctx, n)
	return (cpuTime() - begun) / time.Duration(n), err
}

// weigh measures.
func (w weighing) weigh(ctx context.Context, s *screen) (o overhead, err error) {
	f, err := openTalkers(ctx, w.channels)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	store, err := openStore(ctx, inMemory())
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, store.close()) }()
	k := &keeper{store: store.Store}
	for _, warmUp := range []func(context.Context, int) error{f.talk, f.keepIn(k)} { // each channel is open then
		if err := warmUp(ctx, 1+w.channels); err != nil {
			return o, err
		}
	}
	var turns, writes, differences []time.Duration
	for done := 0; done < w.turns; {
		n := min(max(w.turns/rounds, 1), w.turns-done)
		turn, err := cpuOf(ctx, n, f.talk)
		if err != nil {
			return o, err
		}
		write, err := cpuOf(ctx, n, f.keepIn(k))
		if err != nil {
			return o, err
		}
		turns, writes, differences = append(turns, turn), append(writes, write), append(differences, turn-write)
		done += n
		s.progress("turn %s of %s: %v, of which %v for the writes", thousands(done), thousands(w.turns), turn, write)
	}
	us := func(all []time.Duration) float64 { return 1000 * quantile(all, 0.5) }
	o = overhead{Turns: w.turns, Channels: w.channels, Turn: us(turns), Writes: us(writes), Overhead: us(differences), Load: busyMachine(), Files: filepath.Dir(store.dir)}
	o.Targets = []goal{atMost("a turn's processor time beside its writes, in µs", o.Overhead, overheadGoal)}
	return o, nil
}

// talkers are people in some channels of a bot whose model answers at once.
type talkers struct {
	*bot
	channels  int
	questions []turn
	lines     []string // answers
}

func openTalkers(ctx context.Context, channels int) (f *talkers, err error) {
	f = &talkers{channels: channels, questions: talk(256, 1, chatScale, false), lines: linesOf(256, chatScale)}
	var made atomic.Uint64
	f.bot, err = openBot(ctx, inMemory(), channel.Options{Agent: func(string) channel.Agent {
		a := &actor{window: fullWindow, lines: f.lines, incurious: true, dice: rand.New(rand.NewPCG(made.Add(1), 1))}
		return agentOf(a, a)
	}})
	return f, err
}

// nth is where the nth turn is, and what is asked.
func (f *talkers) nth(n int) (conversation, question string) {
	return fmt.Sprintf("bench:server/c%d", n%f.channels), f.questions[n%len(f.questions)].question.text
}

// keepIn stores n turns, as talk has them.
func (f *talkers) keepIn(k *keeper) func(context.Context, int) error {
	return func(ctx context.Context, n int) error {
		for range n {
			name, question := f.nth(int(k.n) + 1)
			if err := k.keep(ctx, name, question, f.lines[int(k.n)%len(f.lines)]); err != nil {
				return err
			}
		}
		return nil
	}
}

// talk has n turns, one after the other, in the channels by turns.
func (f *talkers) talk(ctx context.Context, n int) error {
	for range n {
		name, question := f.nth(f.n + 1)
		if _, err := f.deliver(ctx, name, question); err != nil {
			return err
		}
		if err := f.hub.Idle(ctx, name); err != nil {
			return err
		}
	}
	f.connector.mu.Lock()
	defer f.connector.mu.Unlock()
	if len(f.connector.replies) != f.n && f.connector.failure == nil {
		return fmt.Errorf("%d of %d turns were answered", len(f.connector.replies), f.n)
	}
	return f.connector.failure
}
