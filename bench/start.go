package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"cairn/channel"
	"cairn/store"
)

const startHelp = `Start builds cairn and fills one data folder with messages in one channel, and another with as many in
channels of %d. Then it repeatedly starts "cairn chat --json" with one message, and measures the time
from the start of the process until that message is accepted. After a kill the start also reads
the write-ahead log and resumes a turn. The median of %d starts counts; the target is %.0f ms.`

// starts is how often cairn starts with each data folder.
var starts = 11

const (
	startGoal  = 100.0 // ms
	perChannel = 100   // messages per channel, if they are spread over channels
)

func newStart() *benchmark {
	var messages int
	help := fmt.Sprintf(startHelp, perChannel, starts, startGoal)
	b := newBenchmark("start", "Measure the time until cairn is ready", help, func(ctx context.Context, s *screen, _ []string) (result, error) {
		r := started{Messages: messages}
		err := withCairn(ctx, s, "", func(p program) error { return r.measure(ctx, s, p) })
		return r, err
	})
	b.integer(&messages, "messages", 100_000, 2*perChannel, 10_000_000, "`N` messages in a data folder")
	return b
}

// started is the result.
type started struct {
	Messages int          `json:"messages"`
	Shapes   []startTimes `json:"shapes"`
	targets
}

// startTimes are the start times with one shape of the data folder.
type startTimes struct {
	Shape  string  `json:"shape"`
	Median float64 `json:"median_ms"`
	Most   float64 `json:"most_ms"`
	CPU    float64 `json:"cpu_ms"` // of the whole run, including the answer and the shutdown; the median
}

func (r *started) measure(ctx context.Context, s *screen, program program) error {
	messages := r.Messages
	for _, shape := range []struct {
		name     string
		channels int
		killed   bool
	}{{"in one channel", 1, false}, {"the same after a kill", 1, true}, {"in " + thousands(messages/perChannel) + " channels", messages / perChannel, false}} {
		data := filepath.Join(program.dir, fmt.Sprint(shape.channels))
		if _, err := os.Stat(data); err != nil {
			if err := fillChannels(ctx, s, data, shape.channels, messages/shape.channels); err != nil {
				return err
			}
		}
		on, err := measureStarts(ctx, s, program, data, shape.killed)
		if err != nil {
			return err
		}
		on.Shape = shape.name
		r.Shapes = append(r.Shapes, on)
		r.Targets = append(r.Targets, atMost("ms to be ready, "+thousands(messages)+" messages "+shape.name, on.Median, startGoal))
	}
	return nil
}

// startChannel is the channel of the messages.
const startChannel = "c0"

// fillChannels imports each messages into each of the terminal's channels.
func fillChannels(ctx context.Context, s *screen, dir string, channels, each int) (err error) {
	db, err := store.Open(ctx, store.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	a := &actor{window: fullWindow, incurious: true, dice: rand.New(rand.NewPCG(1, 1))}
	connector := newConnector()
	connector.name = "terminal"
	hub := channel.New(channel.Options{
		Store: db, Log: discardLog, Connectors: []channel.Connector{connector}, Agent: func(string) channel.Agent { return agentOf(a, nil) },
	})
	defer func() { err = errors.Join(err, hub.Close()) }()
	words := rand.New(rand.NewPCG(1, 2))
	for n := range channels {
		begin := time.Now().Add(-time.Duration(each+60) * time.Minute)
		said := past(each, begin, func() string { return text(words, 4+words.IntN(36)) })
		_, err := hub.Import(ctx, fmt.Sprintf("terminal:c%d", n), said, func(now channel.ImportProgress) {
			s.progress("%s of %s messages are written", thousands(n*each+now.Stored-now.Unread), thousands(channels*each))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// measureStarts starts cairn repeatedly. With killed, each start follows a run that was killed when
// its message was accepted.
func measureStarts(ctx context.Context, s *screen, program program, data string, killed bool) (on startTimes, err error) {
	var took, cpu []time.Duration
	for n := range starts {
		s.progress("start %d of %d", n+1, starts)
		if killed {
			if _, _, err := oneStart(ctx, program, data, fmt.Sprint("killed", n), true); err != nil {
				return on, err
			}
		}
		d, c, err := oneStart(ctx, program, data, fmt.Sprint(killed, n), false)
		if err != nil {
			return on, err
		}
		took = append(took, d)
		cpu = append(cpu, c)
	}
	return startTimes{Median: quantile(took, 0.5), Most: quantile(took, 1), CPU: quantile(cpu, 0.5)}, nil
}

// oneStart starts cairn and sends one message. It returns the time until the message was accepted,
// and the CPU time of the run. The offline model answers.
func oneStart(ctx context.Context, program program, data, id string, kill bool) (took, cpu time.Duration, err error) {
	began := time.Now()
	p, err := chatWith(program.command(ctx, "chat", "--json", "--data", data, "--channel", startChannel))
	if err != nil {
		return 0, 0, err
	}
	err = p.say(line{Channel: startChannel, User: "Ada", Text: "hello", ID: id, Mention: true})
	for err == nil && took == 0 {
		var h heard
		h, err = p.hear()
		if h.Type == "accepted" && h.ID == id && h.Seq > 0 {
			took = time.Since(began)
		}
	}
	end := p.leave
	if kill {
		end = p.kill
	}
	err = errors.Join(err, end())
	if err != nil {
		return 0, 0, fmt.Errorf("have a message accepted: %w", err)
	}
	return took, p.ProcessState.UserTime() + p.ProcessState.SystemTime(), nil
}
