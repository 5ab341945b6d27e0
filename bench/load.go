package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

const loadHelp = `Load has many channels at once in one process, over a real database, for some minutes: at a
steady rate somebody says something in one channel after the other, half of it addressed to
the bot. A scripted model answers after %v to %v, looks something up in one turn
of %d, saves memories and sums up. The windows hold %s tokens, so that compactions and rollups
run all the while; the channels have a past of different lengths when it begins, so that
they do not fill at once; %d compactions may run at a time. What is said and answered is a quarter as long as in "bench cost".

Four channels in a hundred are sick: in some the place where people talk takes %v for
each reply, in others the model never answers, until somebody stops it, or always fails. They are
talked in during every other stretch of time, so that the healthy ones can be compared with
themselves. After the run all is drained, and the channels leave memory, as they do after some silence.

Judged is: what of the process was in the machine's memory in the last third of the time,
against the second; what a turn costs the processor and how long it takes beyond the model's
own time, last third against second; goroutines and open files, against the start; that each message
stands in the transcript once and has one answer; that the healthy channels do not feel
the sick; and that doctor finds nothing in the database.

The default of %d messages a second is meant for two cores that do nothing else; whether the
rate was held is judged too. Until the windows have filled once, which takes ten minutes with
the defaults, memory grows. A run that misses a target ends with 3.`

// defaultRate is how many messages a second are said.
const defaultRate = 60

// loading is what `load` is asked for.
type loading struct {
	channels int
	minutes  float64
	rate     float64
	json     bool
}

func newLoad(s *screen) *cobra.Command {
	var l loading
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Whether many channels at once are held, for how long, and at what price",
		Long:  fmt.Sprintf(loadHelp, quickest, slowest, lookUpEvery, thousands(crowdWindow), crowdWorkers, slowDoorTakes, defaultRate),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case l.channels < 25 || l.channels > 100_000:
				return wrongFlag(cmd, "channels", l.channels, "from 25 to 100000")
			case !(l.minutes >= 0.05 && l.minutes <= 10_000):
				return wrongFlag(cmd, "minutes", l.minutes, "from 0.05 to 10000")
			case !(l.rate > 0 && l.rate <= 10_000):
				return wrongFlag(cmd, "rate", l.rate, "more than 0, and at most 10000")
			}
			return l.run(cmd.Context(), s)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&l.channels, "channels", 1000, "`N` channels")
	flags.Float64Var(&l.minutes, "minutes", 30, "`N` minutes, warm-up and drain not counted")
	flags.Float64Var(&l.rate, "rate", defaultRate, "`N` messages a second, in all channels together")
	flags.BoolVar(&l.json, "json", false, "write JSON")
	return cmd
}

func (l loading) run(ctx context.Context, s *screen) error {
	defer s.done()
	result, err := l.measure(ctx, s)
	if err != nil {
		return err
	}
	s.done()
	if l.json {
		err = s.json(result)
	} else {
		_, err = fmt.Fprint(s.out, result.table(s))
	}
	return errors.Join(err, unmet(result.Targets))
}

// measure has the whole run.
func (l loading) measure(ctx context.Context, s *screen) (result load, err error) {
	c, err := openCrowd(ctx, l.channels, l.rate, s)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	result = load{Channels: l.channels, Minutes: l.minutes, Rate: l.rate, Start: usageNow()}
	lasts := time.Duration(l.minutes * float64(time.Minute))
	s.progress("warming up")
	if _, err := c.talk(ctx, l.rate, min(lasts/4, time.Duration(2*float64(l.channels)/l.rate*float64(time.Second)))); err != nil {
		return result, err
	}
	c.book.stretch(false, true)
	w := newWatch(c, lasts)
	watching, stop := context.WithCancel(ctx)
	var watched sync.WaitGroup
	watched.Go(func() { w.run(watching, s) })
	begun := time.Now()
	_, err = c.talk(ctx, l.rate, lasts)
	result.Took = time.Since(begun).Minutes()
	stop()
	watched.Wait()
	if err != nil {
		return result, err
	}
	if err := c.drain(ctx, s, result.Start); err != nil {
		return result, err
	}
	result.Samples, result.End = w.samples, usageNow()
	s.progress("every message is looked for")
	if err := result.audit(ctx, c); err != nil {
		return result, err
	}
	result.judge()
	return result, nil
}
