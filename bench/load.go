package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const loadHelp = `Load runs many channels in one process, with a real database: people write at a steady rate, in one
channel after another, every second message to the bot. A scripted model answers after %v to %v,
uses a tool in one turn of %d, saves memories and summarizes. Windows hold %s tokens and the channels
start with histories of different lengths, so compactions run constantly, at most %d concurrently. At
the end the bot drains all queues and evicts idle channels.

Targets: every message is in the transcript once and has one answer; doctor finds nothing; no
goroutine or file stays open; resident memory and processor time per turn do not grow from the second
third of the time to the last; the rate was reached. The default of %d messages a second is for two
idle cores. Memory grows until the windows have filled once: ten minutes with the defaults.`

// defaultRate is the default number of messages per second.
const defaultRate = 60

// loading has the flags of `load`.
type loading struct {
	channels      int
	minutes, rate float64
}

func newLoad() *benchmark {
	var l loading
	help := fmt.Sprintf(loadHelp, quickest, slowest, lookUpEvery, thousands(crowdWindow), crowdWorkers, defaultRate)
	b := newBenchmark("load", "Measure many concurrent channels over a long time", help, func(ctx context.Context, s *screen, _ []string) (result, error) {
		return l.measure(ctx, s)
	})
	b.integer(&l.channels, "channels", 1000, 25, 100_000, "`N` channels")
	b.Flags().Float64Var(&l.minutes, "minutes", 30, "`N` minutes, warm-up and drain not counted")
	within(b, "minutes", &l.minutes, 0.05, 10_000)
	b.Flags().Float64Var(&l.rate, "rate", defaultRate, "`N` messages a second, in all channels together")
	within(b, "rate", &l.rate, 0.001, 10_000)
	return b
}

// measure runs the benchmark.
func (l loading) measure(ctx context.Context, s *screen) (r load, err error) {
	c, err := openCrowd(ctx, l.channels, l.rate, s)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	r = load{Channels: l.channels, Minutes: l.minutes, Rate: l.rate, Start: usageNow()}
	lasts := time.Duration(l.minutes * float64(time.Minute))
	s.progress("warming up")
	if err := c.talk(ctx, l.rate, min(lasts/4, time.Duration(2*float64(l.channels)/l.rate*float64(time.Second)))); err != nil {
		return r, err
	}
	c.mu.Lock()
	c.took = nil
	c.mu.Unlock()
	watching, stop := context.WithCancel(ctx)
	var watched sync.WaitGroup
	watched.Go(func() { r.Samples = watch(watching, s, c, lasts) })
	started := time.Now()
	err = c.talk(ctx, l.rate, lasts)
	r.Took = time.Since(started).Minutes()
	stop()
	watched.Wait()
	if err != nil {
		return r, err
	}
	if err := c.drain(ctx, s, r.Start); err != nil {
		return r, err
	}
	r.End = usageNow()
	s.progress("every message is looked for")
	if err := r.audit(ctx, c); err != nil {
		return r, err
	}
	r.judge()
	return r, nil
}
