package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"cairn/channel"
	"cairn/llm"
)

const (
	replyDelay   = 30 * time.Millisecond
	maxDeviation = 0.02 // by which the ratio may differ from 1
)

const latencyHelp = `Latency alternates between two channels. In one, a summary is always in progress; in the other,
none is. Everything else is the same. The model takes %v per reply. It measures the time from
the delivery of a message to the reply. The target is a ratio of the medians of 1.00 ± %.2f;
ratio_low and ratio_high are its 95 %% confidence interval.`

func newLatency() *benchmark {
	var turns int
	var summaryTakes time.Duration
	help := fmt.Sprintf(latencyHelp, replyDelay, maxDeviation)
	b := newBenchmark("latency", "Check that a summary in progress does not delay replies", help, func(ctx context.Context, s *screen, _ []string) (result, error) {
		return measureLatency(ctx, s, turns, summaryTakes)
	})
	b.Flags().DurationVar(&summaryTakes, "summary", 5*time.Second, "`TIME` the model takes for a summary")
	within(b, "summary", &summaryTakes, 100*time.Millisecond, time.Minute)
	b.integer(&turns, "turns", 200, 1, 100_000, "`N` turns in each channel")
	return b
}

// The two channels.
const (
	quiet = "bench:server/quiet" // no summary is being written
	busy  = "bench:server/busy"  // a summary is always being written
)

func measureLatency(ctx context.Context, s *screen, turns int, summaryTakes time.Duration) (r latencies, err error) {
	f, err := openField(ctx, summaryTakes)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	took, err := f.measure(ctx, turns, s)
	if err != nil {
		return r, err
	}
	r = latencies{
		Turns: turns, Without: spreadOf(took[quiet]), With: spreadOf(took[busy]), Summaries: f.connector.endings(busy) - 1,
	}
	r.Ratio = r.With.Median / r.Without.Median
	r.Low, r.High = confidenceInterval(took[busy], took[quiet])
	r.Targets = []goal{atMost("ratio of the medians, off 1.00 by", math.Abs(r.Ratio-1), maxDeviation)}
	return r, nil
}

// field is a bot with the two channels.
type field struct{ *bot }

func openField(ctx context.Context, summaryTakes time.Duration) (f field, err error) {
	writer := func(takes time.Duration) *actor {
		return &actor{
			window: llm.DefaultWindow, lines: []string{"It will rain, I think."}, incurious: true, brief: true, dice: rand.New(rand.NewPCG(1, 1)),
			delay: func(*rand.Rand) time.Duration { return takes },
		}
	}
	model := writer(replyDelay)
	slow := writer(summaryTakes)
	quick := writer(0)
	f.bot, err = openBot(ctx, "", channel.Options{Agent: func(conversation string) channel.Agent {
		if conversation == busy {
			return agentOf(model, slow)
		}
		return agentOf(model, quick)
	}})
	if err != nil {
		return f, err
	}
	words := rand.New(rand.NewPCG(1, 1))
	for _, name := range []string{quiet, busy} {
		said := past(60, time.Unix(0, 0), func() string { return text(words, 250) })
		if _, err := f.store.conversation(ctx, name, said); err != nil {
			return f, errors.Join(err, f.close())
		}
	}
	return f, nil
}

// measure returns the times of turns turns in each channel.
func (f field) measure(ctx context.Context, turns int, s *screen) (map[string][]time.Duration, error) {
	s.progress("summarizing the past of both channels first, to make them alike")
	if err := f.sumUp(ctx); err != nil {
		return nil, err
	}
	if err := f.connector.until(ctx, func() bool { return f.connector.ended[busy] > 0 }); err != nil {
		return nil, err
	}
	took := map[string][]time.Duration{}
	const warmUp = 5
	for round := -warmUp; len(took[busy]) < turns || len(took[quiet]) < turns; round++ {
		if round > 10*turns+100 {
			return nil, errors.New("summaries end too soon to overlap with turns: is the machine very busy?")
		}
		s.progress("turn %d of %d, summaries so far: %d", len(took[busy]), turns, f.connector.endings(busy))
		if err := f.sumUp(ctx); err != nil {
			return nil, err
		}
		order := []string{quiet, busy}
		if round%2 == 0 {
			slices.Reverse(order)
		}
		for _, name := range order {
			before := f.connector.running(name)
			d, err := f.turn(ctx, name)
			if err != nil {
				return nil, err
			}
			meant := name == busy
			if round >= 0 && before == meant && f.connector.running(name) == meant && len(took[name]) < turns {
				took[name] = append(took[name], d)
			}
		}
	}
	return took, nil
}

// sumUp starts a summary in both channels unless one is running in the busy one, and waits for the
// other's, which takes no time.
func (f field) sumUp(ctx context.Context) error {
	if f.connector.running(busy) {
		return nil
	}
	before := f.connector.endings(quiet)
	for _, name := range []string{busy, quiet} {
		if _, err := f.command(ctx, name, "/compact"); err != nil {
			return err
		}
	}
	return f.connector.until(ctx, func() bool { return f.connector.ended[quiet] > before })
}

// turn sends a message in a channel and returns the time of the reply.
func (f field) turn(ctx context.Context, name string) (time.Duration, error) {
	start := time.Now()
	r, err := f.say(ctx, name, fmt.Sprintf("And what do you think about tomorrow, number %d?", f.n+1))
	if err != nil {
		return 0, err
	}
	return r.at.Sub(start), f.hub.Idle(ctx, name)
}

// latencies is the result.
type latencies struct {
	Turns     int     `json:"turns"` // in each channel
	Without   spread  `json:"without_summary"`
	With      spread  `json:"with_summary"`
	Ratio     float64 `json:"ratio"`     // of the medians
	Low       float64 `json:"ratio_low"` // lower end of its 95 % confidence interval
	High      float64 `json:"ratio_high"`
	Summaries int     `json:"summaries_landed"`
	targets
}
