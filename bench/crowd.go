package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/channel"
	"cairn/memory"
)

const (
	quickest      = 200 * time.Millisecond
	slowest       = 1500 * time.Millisecond
	crowdWindow   = 6000 // tokens
	crowdWorkers  = 32 // compactions at once: four, the default, are too few for so many small windows
	deliverers    = 8
	storeReaders  = 4 // connections on which the store reads
)

// crowd is a bot with many channels, and the people in them.
type crowd struct {
	*bot
	idle    time.Duration // after which a channel leaves memory
	members []*member
	known   map[string]*member // by name
	book    *book
	past    int           // messages that were there before
	lines   []string      // what people say
	said    int           // messages so far
}

// member is a channel.
type member struct {
	name  string
	actor *actor
}

// openCrowd makes so many channels with a past of different lengths. Each says
// something rate/channels times a second later on.
func openCrowd(ctx context.Context, channels int, rate float64, s *screen) (c *crowd, err error) {
	c = &crowd{known: map[string]*member{}, book: newBook(), lines: linesOf(256, chatScale)}
	c.idle = max(time.Duration(3*float64(channels)/rate*float64(time.Second)), 2*time.Second)
	for n := range channels {
		m := &member{name: fmt.Sprintf("bench:server/c%d", n)}
		m.actor = &actor{window: crowdWindow, lines: c.lines, dice: rand.New(rand.NewPCG(uint64(n), 1)), takes: func(r *rand.Rand) time.Duration {
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
	c.door.replied = func(conversation string, piece channel.Piece) { c.book.answered(c.known[conversation], piece) }
	c.door.compacted = func(conversation string, e channel.Event) { c.book.compaction(conversation, e) }
	c.door.saved = func() { c.book.count(func(t *doings) { t.Memories++ }) }
	if err := c.remember(ctx, s); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// remember gives each channel a past, and has the store open all its connections to the
// database, so that handles can be counted.
func (c *crowd) remember(ctx context.Context, s *screen) error {
	var done, past atomic.Int64
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(deliverers)
	for n, m := range c.members {
		group.Go(func() error {
			r := rand.New(rand.NewPCG(uint64(n), 2))
			conv, err := c.store.Conversation(within, m.name)
			if err != nil {
				return err
			}
			batch := make([]memory.Inbound, 18+r.IntN(22))
			for i := range batch {
				batch[i] = memory.Inbound{ID: fmt.Sprint("past", i), AuthorID: "2", Author: "Ben", Text: c.lines[r.IntN(len(c.lines))], Time: time.Now().Add(-time.Hour)}
			}
			past.Add(int64(len(batch)))
			s.progress("%d of %d channels have a past", done.Add(1), len(c.members))
			_, err = conv.Import(within, batch)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	c.past = int(past.Load())
	group, within = errgroup.WithContext(ctx)
	for range storeReaders {
		group.Go(func() error {
			_, err := c.store.Examine(within, false) // it takes so long that none is done before all have begun
			return err
		})
	}
	return group.Wait()
}

// talk says so many things a second for some time, in the channels by turns, and
// returns how many.
func (c *crowd) talk(ctx context.Context, rate float64, lasts time.Duration) (said int, err error) {
	group, ctx := errgroup.WithContext(ctx)
	queue := make(chan func() error, deliverers)
	for range deliverers {
		group.Go(func() error {
			for deliver := range queue {
				if err := deliver(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	begun, dice, total := time.Now(), rand.New(rand.NewPCG(uint64(c.said), 3)), int(rate*lasts.Seconds())
	for at := 0; said < total && ctx.Err() == nil; at++ {
		m := c.members[at%len(c.members)]
		c.said++
		said++
		due := begun.Add(time.Duration(float64(said) / rate * float64(time.Second)))
		in := channel.Inbound{ID: fmt.Sprint("m", c.said), AuthorID: "1", Author: "Ada", Text: c.lines[dice.IntN(len(c.lines))], Addressed: dice.IntN(2) == 0}
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
		}
		select {
		case queue <- func() error { return c.deliver(ctx, m, in) }:
		case <-ctx.Done():
		}
	}
	close(queue)
	return said, group.Wait()
}

func (c *crowd) deliver(ctx context.Context, m *member, in channel.Inbound) error {
	in.Time = time.Now()
	if in.Addressed {
		c.book.asked(m, in.ID)
	}
	_, err := c.hub.Deliver(ctx, m.name, in)
	return err
}

// drain lets all be answered, and waits for the channels to leave memory, as long as
// something of them is there that was not at the start.
func (c *crowd) drain(ctx context.Context, s *screen, start usage) error {
	s.progress("what is left is answered and summed up")
	if err := c.hub.Drain(ctx); err != nil {
		return err
	}
	for until := time.Now().Add(2*c.idle + 10*time.Second); time.Now().Before(until); {
		now := usageNow()
		if now.Goroutines <= start.Goroutines && now.Handles <= start.Handles {
			return nil
		}
		s.progress("the channels leave memory: %d goroutines", now.Goroutines)
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
