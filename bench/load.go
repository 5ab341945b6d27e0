package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const loadHelp = `Load has many channels at once in one process, over a real database, for some minutes: at a
steady rate somebody says something in one channel after the other, half of it addressed to
the bot. A scripted model answers after %v to %v, looks something up in one turn
of %d, saves memories and sums up. The windows hold %s tokens, so that compactions and rollups
run all the while; the channels have a past of different lengths when it begins, so that
they do not fill at once; %d compactions may run at a time. What is said and answered is a quarter as long as in "bench cost".

After the run all is drained, and the channels leave memory, as they do after some silence.

Judged is: what of the process was in the machine's memory in the last third of the time,
against the second; what a turn costs the processor and how long it takes beyond the model's
own time, last third against second; goroutines and open files, against the start; that each message
stands in the transcript once and has one answer; and that doctor finds nothing in the database.

The default of %d messages a second is meant for two cores that do nothing else; whether the
rate was held is judged too. Until the windows have filled once, which takes ten minutes with
the defaults, memory grows. A run that misses a target ends with 3.`

// defaultRate is how many messages a second are said.
const defaultRate = 60

// loading is what `load` is asked for.
type loading struct {
	channels      int
	minutes, rate float64
}

func newLoad() *benchmark {
	var l loading
	help := fmt.Sprintf(loadHelp, quickest, slowest, lookUpEvery, thousands(crowdWindow), crowdWorkers, defaultRate)
	b := newBenchmark("load", "Whether many channels at once are held, for how long, and at what price", help, func(ctx context.Context, s *screen, _ string) (result, error) {
		return l.measure(ctx, s)
	})
	b.integer(&l.channels, "channels", 1000, 25, 100_000, "`N` channels")
	b.Flags().Float64Var(&l.minutes, "minutes", 30, "`N` minutes, warm-up and drain not counted")
	within(b, "minutes", &l.minutes, 0.05, 10_000)
	b.Flags().Float64Var(&l.rate, "rate", defaultRate, "`N` messages a second, in all channels together")
	within(b, "rate", &l.rate, 0.001, 10_000)
	b.quick = "--minutes 2"
	return b
}

// measure has the whole run.
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
	begun := time.Now()
	err = c.talk(ctx, l.rate, lasts)
	r.Took = time.Since(begun).Minutes()
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
