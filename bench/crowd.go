package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
)

const (
	quickest      = 200 * time.Millisecond
	slowest       = 1500 * time.Millisecond
	crowdWindow   = 6000 // tokens
	slowDoorTakes = 2 * time.Second
	crowdWorkers  = 32 // compactions at once: four, the default, are too few for so many small windows
	deliverers    = 8
	storeReaders  = 4 // connections on which the store reads
)

// crowd is a bot with many channels, and the people in them.
type crowd struct {
	dir     string
	store   *memory.Store
	hub     *channel.Hub
	idle    time.Duration // after which a channel leaves memory
	members []*member
	known   map[string]*member // by name
	book    *book
	past    int           // messages that were there before
	lines   []string      // what people say
	said    int           // messages so far
	sick    atomic.Bool   // the sick are talked to
	cured   chan struct{} // closed when the silent models answer again
}

// member is a channel.
type member struct {
	name  string
	ill   ailment
	actor *actor
}

type ailment int

const (
	well    ailment = iota
	slow            // its door is
	silent          // its model never answers
	failing         // its model always fails
)

// ailmentOf spreads what ails channels: of a hundred two are slow, one is silent and
// one fails.
func ailmentOf(n int) ailment {
	switch n % 100 {
	case 6, 16:
		return slow
	case 11:
		return silent
	case 21:
		return failing
	}
	return well
}

// openCrowd makes so many channels with a past of different lengths. Each says
// something rate/channels times a second later on.
func openCrowd(ctx context.Context, channels int, rate float64, s *screen) (c *crowd, err error) {
	c = &crowd{known: map[string]*member{}, book: newBook(), lines: linesOf(256, chatScale), cured: make(chan struct{})}
	c.idle = max(time.Duration(3*float64(channels)/rate*float64(time.Second)), 2*time.Second)
	if c.dir, err = os.MkdirTemp("", "cairn-bench-"); err != nil {
		return nil, err
	}
	if c.store, err = memory.Open(ctx, memory.Options{Dir: c.dir}); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	for n := range channels {
		m := &member{ill: ailmentOf(n), name: fmt.Sprintf("bench:server/c%d", n)}
		if m.ill == slow {
			m.name = fmt.Sprintf("slow:server/c%d", n)
		}
		m.actor = &actor{window: crowdWindow, lines: c.lines, dice: rand.New(rand.NewPCG(uint64(n), 1)), takes: func(r *rand.Rand) time.Duration {
			return quickest + time.Duration(r.Int64N(int64(slowest-quickest)))
		}}
		c.members = append(c.members, m)
		c.known[m.name] = m
	}
	c.hub = channel.New(channel.Options{
		Store: c.store, Idle: c.idle, Agent: c.agent, Workers: crowdWorkers, Log: silence,
		Doors: []channel.Door{&crowdDoor{name: "bench", c: c}, &crowdDoor{name: "slow", c: c, takes: slowDoorTakes}},
	})
	if err := c.remember(ctx, s); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *crowd) agent(name string) channel.Agent {
	m := c.known[name]
	model := llm.Model(m.actor)
	switch m.ill {
	case silent:
		model = silentModel{m.actor, c.cured}
	case failing:
		model = failingModel{m.actor}
	}
	return channel.Agent{Model: model, Worker: model, MaxOutput: maxOutput, Policy: compactor.DefaultPolicy}
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
			_, err := c.store.Check(within) // it takes so long that none is done before all have begun
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
		if m.ill != well && !c.sick.Load() {
			continue
		}
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
	close(c.cured)
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

func (c *crowd) close() error {
	return errors.Join(c.hub.Close(), c.store.Close(), os.RemoveAll(c.dir))
}

// silentModel answers nothing until it is cured.
type silentModel struct {
	*actor
	cured chan struct{}
}

func (m silentModel) Generate(ctx context.Context, req llm.Request, show func(string)) (llm.Response, error) {
	select {
	case <-m.cured:
		return m.actor.Generate(ctx, req, show)
	case <-ctx.Done():
		return llm.Response{}, ctx.Err()
	}
}

// failingModel is overloaded whenever it is asked.
type failingModel struct{ *actor }

func (failingModel) Generate(context.Context, llm.Request, func(string)) (llm.Response, error) {
	return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "scripted"}
}

// crowdDoor is where the answers arrive.
type crowdDoor struct {
	name  string
	c     *crowd
	takes time.Duration // for each reply
	sent  atomic.Int64
}

var (
	_ channel.Door     = (*crowdDoor)(nil)
	_ channel.Observer = (*crowdDoor)(nil)
)

func (d *crowdDoor) Name() string               { return d.name }
func (d *crowdDoor) Split(text string) []string { return []string{text} }

func (d *crowdDoor) Reply(conversation string, _ []string) channel.Writer {
	return crowdWriter{d, d.c.known[conversation]}
}

func (d *crowdDoor) Accepted(string, string, int64) {}
func (d *crowdDoor) Remembered(string, int64, string, string) {
	d.c.book.count(func(t *doings) { t.Memories++ })
}

func (d *crowdDoor) Compaction(conversation string, e channel.Event) {
	d.c.book.compaction(d.c.known[conversation], e)
}

// crowdWriter carries a reply to the people of a channel.
type crowdWriter struct {
	d *crowdDoor
	m *member
}

func (crowdWriter) Show(string) {}
func (crowdWriter) Cancel()     {}

func (w crowdWriter) Send(ctx context.Context, piece channel.Piece) (string, error) {
	if w.d.takes > 0 {
		select {
		case <-time.After(w.d.takes):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	w.d.c.book.answered(w.m, piece)
	return fmt.Sprint("p", w.d.sent.Add(1)), nil
}
