package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/channel"
	"cairn/compactor"
)

const (
	quickest     = 200 * time.Millisecond
	slowest      = 1500 * time.Millisecond
	crowdWindow  = 6000 // tokens
	crowdWorkers = 32   // concurrent compactions: the default of four is too few for so many small windows
	deliverers   = 8
	storeReaders = 4 // the store's read connections
)

// crowd is a bot with many channels, their people, and the questions that are not answered yet.
type crowd struct {
	*bot
	idle    time.Duration // after which a channel leaves memory
	members []*member
	known   map[string]*member // by name
	past    int                // messages imported before the run
	lines   []string           // what people write
	said    int                // messages so far

	mu     sync.Mutex // guards everything below
	asked  map[string]time.Time
	counts counts
	took   []time.Duration // without the model's own time
}

// member is a channel.
type member struct {
	name    string
	actor   *actor
	pending int // unanswered questions; guarded by crowd.mu
}

// counts is what has happened so far.
type counts struct {
	Answered    int    `json:"answered"`
	Twice       int    `json:"answered_twice"` // answered again, or never asked
	Failed      int    `json:"failed"`         // replies that report a failure
	Compactions int    `json:"compactions"`    // applied
	Rollups     int    `json:"rollups"`        // of these, summaries of summaries
	Broken      int    `json:"failed_compactions"`
	Memories    int    `json:"memories"`
	Why         string `json:"failure,omitempty"` // of the last failure
}

// openCrowd opens channels with histories of different lengths. Later, each gets rate/channels
// messages per second.
func openCrowd(ctx context.Context, channels int, rate float64, s *screen) (c *crowd, err error) {
	c = &crowd{known: map[string]*member{}, asked: map[string]time.Time{}, lines: linesOf(256, chatScale)}
	c.idle = max(time.Duration(3*float64(channels)/rate*float64(time.Second)), 2*time.Second)
	for n := range channels {
		m := &member{name: fmt.Sprintf("bench:server/c%d", n)}
		m.actor = &actor{window: crowdWindow, lines: c.lines, dice: rand.New(rand.NewPCG(uint64(n), 1)), delay: func(r *rand.Rand) time.Duration {
			return quickest + time.Duration(r.Int64N(int64(slowest-quickest)))
		}}
		c.members = append(c.members, m)
		c.known[m.name] = m
	}
	c.bot, err = openBot(ctx, "", channel.Options{Idle: c.idle, Workers: crowdWorkers, Agent: func(name string) channel.Agent {
		return agentOf(c.known[name].actor, c.known[name].actor)
	}})
	if err != nil {
		return nil, err
	}
	c.connector.replied = c.answered
	c.connector.compacted = c.compacted
	c.connector.saved = func() { c.count(func(d *counts) { d.Memories++ }) }
	if err := c.remember(ctx, s); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *crowd) count(f func(*counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.counts)
}

// compacted counts the ends of compactions, except those that the end of the run stops.
func (c *crowd) compacted(conversation string, e channel.Event) {
	c.count(func(d *counts) {
		switch {
		case e.State == compactor.EventApplied:
			d.Compactions++
			if e.Kind == compactor.Rollup {
				d.Rollups++
			}
		case e.State == compactor.EventFailed && !strings.HasPrefix(e.Error, "stopped before"):
			d.Broken++
			d.Why = fmt.Sprintf("a compaction in %s: %s", conversation, e.Error)
		}
	})
}

// answered counts a reply, and measures its time if nothing else was going on in its channel.
func (c *crowd) answered(conversation string, piece channel.Piece) {
	now := time.Now()
	m := c.known[conversation]
	thought := m.actor.takeElapsed()
	c.mu.Lock()
	defer c.mu.Unlock()
	if piece.Failure {
		c.counts.Failed++
		c.counts.Why = piece.Text
	}
	for _, id := range piece.To {
		at, there := c.asked[id]
		if !there {
			c.counts.Twice++
			continue
		}
		delete(c.asked, id)
		m.pending--
		c.counts.Answered++
		if !at.IsZero() && len(piece.To) == 1 {
			c.took = append(c.took, max(now.Sub(at)-thought, 0))
		}
	}
}

// snapshot returns the counts so far, and the times of all answers after the first n.
func (c *crowd) snapshot(n int) (counts, []time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts, slices.Clone(c.took[min(n, len(c.took)):])
}

// remember imports a history into each channel, and makes the store open all its database
// connections, so that handles can be counted.
func (c *crowd) remember(ctx context.Context, s *screen) error {
	var done, imported atomic.Int64
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(deliverers)
	for n, m := range c.members {
		group.Go(func() error {
			r := rand.New(rand.NewPCG(uint64(n), 2))
			batch := past(18+r.IntN(22), time.Now().Add(-time.Hour), func() string { return c.lines[r.IntN(len(c.lines))] })
			imported.Add(int64(len(batch)))
			s.progress("%d of %d channels have a past", done.Add(1), len(c.members))
			_, err := c.store.conversation(within, m.name, batch)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	c.past = int(imported.Load())
	group, within = errgroup.WithContext(ctx)
	for range storeReaders {
		group.Go(func() error {
			_, err := c.store.Upkeep().Check(within) // slow enough that all have started before the first one ends
			return err
		})
	}
	return group.Wait()
}

// talk sends rate messages per second for some time, to the channels in turn.
func (c *crowd) talk(ctx context.Context, rate float64, lasts time.Duration) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(deliverers)
	started := time.Now()
	dice := rand.New(rand.NewPCG(uint64(c.said), 3))
	for n := range int(rate * lasts.Seconds()) {
		m := c.members[n%len(c.members)]
		c.said++
		in := addressedNow(fmt.Sprint("m", c.said), c.lines[dice.IntN(len(c.lines))])
		in.Addressed = dice.IntN(2) == 0
		if sleep(within, time.Until(started.Add(time.Duration(float64(n+1)/rate*float64(time.Second))))) != nil {
			break
		}
		group.Go(func() error { return c.deliver(within, m, in) }) // blocks if all deliverers are busy
	}
	return group.Wait()
}

func (c *crowd) deliver(ctx context.Context, m *member, in channel.Inbound) error {
	in.Time = time.Now()
	if in.Addressed {
		c.mu.Lock()
		c.asked[in.ID] = in.Time
		if m.pending > 0 {
			c.asked[in.ID] = time.Time{} // it waits for other messages
		}
		m.pending++
		c.mu.Unlock()
	}
	_, err := c.hub.Deliver(ctx, m.name, in)
	return err
}

// drain waits until everything is answered and the channels have left memory: until goroutines and
// handles are as at the start.
func (c *crowd) drain(ctx context.Context, s *screen, start usage) error {
	s.progress("answering and summarizing the rest")
	if err := c.hub.Drain(ctx); err != nil {
		return err
	}
	for until := time.Now().Add(2*c.idle + 10*time.Second); time.Now().Before(until); {
		now := usageNow()
		if now.Goroutines <= start.Goroutines && now.Handles <= start.Handles {
			return nil
		}
		s.progress("the channels leave memory: %d goroutines", now.Goroutines)
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
