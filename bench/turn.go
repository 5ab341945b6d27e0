package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"time"
)

const turnHelp = `Turn builds cairn, starts it as "cairn chat --json" with a model on loopback that answers immediately,
and runs conversations of the given length concurrently. Messages and answers have %d characters; one
word in %d is new. At the end a prompt has about %s tokens; nothing is compacted.

It measures the CPU time of the process per turn, kernel and start included; turns per second; and
resident memory. The files are in /dev/shm if it exists, has room, and TMPDIR names no other
folder. Targets, for the default flags: at most %.0f ms a turn, at least %.0f turns a second, at most %.0f MiB.`

const (
	turnGoal   = 3.0   // CPU time of a turn, in ms
	turnRate   = 300.0 // turns per second, in all conversations
	turnMemory = 60.0  // resident memory, in MiB
	turnChars  = 400   // length of a message and of an answer
)

// turning has the flags of `turn`.
type turning struct{ channels, turns int }

func newTurn() *benchmark {
	var o turning
	help := fmt.Sprintf(turnHelp, turnChars, newWordEvery, thousands(12_000), turnGoal, turnRate, turnMemory)
	b := newBenchmark("turn", "Measure the CPU time of a turn in the shipped program", help, func(ctx context.Context, s *screen, _ []string) (result, error) {
		var r turnResult
		err := withCairn(ctx, s, inMemory(), func(p program) (err error) {
			r, err = o.measure(ctx, s, p)
			return err
		})
		return r, err
	})
	b.integer(&o.channels, "channels", 50, 1, 1000, "`N` conversations")
	b.integer(&o.turns, "turns", 50, 1, 10_000, "`N` turns in each")
	return b
}

// turnResult is the result.
type turnResult struct {
	Channels int     `json:"channels"`
	Turns    int     `json:"turns"`         // in all conversations
	CPU      float64 `json:"cpu_ms"`        // per turn
	User     float64 `json:"user_ms"`       // of that, outside the kernel
	Largest  int     `json:"largest_bytes"` // size of the largest request
	Resident float64 `json:"resident_mib"`  // maximum
	Rate     float64 `json:"turns_per_second"`
	targets
}

// measure runs the conversations and measures the process.
func (o turning) measure(ctx context.Context, s *screen, program program) (r turnResult, err error) {
	model := &instantModel{answer: freshText(rand.New(rand.NewPCG(1, 2)), turnChars)}
	server := httptest.NewServer(model)
	defer server.Close()
	cmd := program.command(ctx, "chat", "--json")
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=bench", "OPENAI_BASE_URL="+server.URL+"/v1", "OPENAI_MODEL="+instantName)
	p, err := chatWith(cmd)
	if err != nil {
		return r, err
	}
	started := time.Now()
	err = o.talk(s, p)
	took := time.Since(started)
	err = errors.Join(err, p.leave())
	if err != nil {
		return r, err
	}
	all := o.channels * o.turns
	each := func(d time.Duration) float64 { return ms(d) / float64(all) }
	user := p.ProcessState.UserTime()
	kernel := p.ProcessState.SystemTime()
	r = turnResult{
		Channels: o.channels, Turns: all, CPU: each(user + kernel), User: each(user), Largest: int(model.largest.Load()),
		Resident: largestResident(p.ProcessState), Rate: float64(all) / took.Seconds(),
	}
	r.Targets = []goal{
		atMost("ms of the processor for a turn", r.CPU, turnGoal),
		atLeast("turns a second", r.Rate, turnRate),
		atMost("MiB of resident memory, at the most", r.Resident, turnMemory),
	}
	return r, nil
}

// talk sends a message in each conversation and waits for all replies, in each of the turns.
func (o turning) talk(s *screen, p *process) error {
	words := rand.New(rand.NewPCG(1, 1))
	for turn := range o.turns {
		s.progress("turn %d of %d in each of %d conversations", turn+1, o.turns, o.channels)
		for c := range o.channels {
			said := line{Channel: fmt.Sprint("c", c), User: "Ada", Text: freshText(words, turnChars), ID: fmt.Sprintf("m%d-%d", c, turn), Mention: true}
			if err := p.say(said); err != nil {
				return err
			}
		}
		for answered := 0; answered < o.channels; {
			h, err := p.hear()
			switch {
			case err != nil:
				return fmt.Errorf("%d of %d were answered in turn %d: %w", answered, o.channels, turn+1, err)
			case h.Type == "error":
				return fmt.Errorf("cairn says: %s", h.Text)
			case h.Type == "reply":
				answered += len(h.To)
			}
		}
	}
	return nil
}

// freshText returns a text of chars characters, with words that were not used before.
func freshText(words *rand.Rand, chars int) string {
	return strings.TrimSpace(freshWords(words, chars/2, vocabulary)[:chars])
}
