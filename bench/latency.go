package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/compactor"
	"cairn/memory"
)

const (
	replyTakes   = 30 * time.Millisecond
	summaryTakes = 5 * time.Second
	target       = 0.02 // by which the ratio may miss 1
)

func newLatency(s *screen) *cobra.Command {
	var turns int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "latency",
		Short: "Whether a summary that is being written delays the replies",
		Long: fmt.Sprintf(`Latency talks in two channels by turns. In one a summary is being written all the while,
which takes %v; in the other none is, and all else is the same: as many messages,
as many summaries, the same bot on one database. A reply takes the model %v. What is
measured is the time from the delivery of a message to the reply on its way to people.

The target is a ratio of the medians of 1.00 ± %.2f; a run that misses it ends with 3,
also where the machine has so much other work that more turns are needed to tell.`, summaryTakes, replyTakes, target),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if turns < 1 || turns > 100_000 {
				return wrongFlag(cmd, "turns", turns, "from 1 to 100000")
			}
			return measureLatency(cmd.Context(), s, turns, asJSON)
		},
	}
	cmd.Flags().IntVar(&turns, "turns", 200, "`N` turns in each channel")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// The two channels.
const (
	quiet = "bench:server/quiet" // no summary is being written
	busy  = "bench:server/busy"  // one always is
)

func measureLatency(ctx context.Context, s *screen, turns int, asJSON bool) (err error) {
	defer s.done()
	r, err := openField(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	took, err := r.measure(ctx, turns, s)
	if err != nil {
		return err
	}
	s.done()
	result := latencies{
		Turns: turns, Without: spreadOf(took[quiet]), With: spreadOf(took[busy]), Summaries: r.door.endings(busy) - 1,
		ReplyMS: ms(replyTakes), SummaryMS: ms(summaryTakes), Target: target,
	}
	result.Ratio = result.With.Median / result.Without.Median
	result.Low, result.High = sure(took[busy], took[quiet])
	result.Met = math.Abs(result.Ratio-1) <= target
	if asJSON {
		err = s.json(result)
	} else {
		_, err = fmt.Fprint(s.out, result.table(s, took))
	}
	if err == nil && !result.Met {
		return missed(fmt.Sprintf("the ratio is %.3f, not 1.00 ± %.2f: %s", result.Ratio, target, result.verdict()))
	}
	return err
}

// field is a bot with the two channels, over a real database in a temporary folder.
type field struct {
	dir   string
	store *memory.Store
	hub   *channel.Hub
	door  *door
	n     int
}

func openField(ctx context.Context) (r *field, err error) {
	r = &field{door: newDoor()}
	if r.dir, err = os.MkdirTemp("", "cairn-bench-"); err != nil {
		return nil, err
	}
	if err = r.open(ctx); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *field) open(ctx context.Context) (err error) {
	if r.store, err = memory.Open(ctx, memory.Options{Dir: r.dir}); err != nil {
		return err
	}
	words := rand.New(rand.NewPCG(1, 1))
	for _, name := range []string{quiet, busy} {
		conv, err := r.store.Conversation(ctx, name)
		if err != nil {
			return err
		}
		past := make([]memory.Inbound, 200)
		for i := range past {
			past[i] = memory.Inbound{ID: fmt.Sprint("past", i), Author: "Ada", Text: text(words, 250), Time: time.Unix(int64(i), 0)}
		}
		if _, err := conv.Import(ctx, past); err != nil {
			return err
		}
	}
	r.hub = channel.New(channel.Options{
		Store: r.store, Doors: []channel.Door{r.door}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Agent: func(conversation string) channel.Agent {
			a := channel.Agent{Model: parrot{takes: replyTakes}, Worker: parrot{}, MaxOutput: maxOutput, Policy: compactor.DefaultPolicy}
			if conversation == busy {
				a.Worker = parrot{takes: summaryTakes}
			}
			return a
		},
	})
	return nil
}

func (r *field) close() error {
	var err error
	if r.hub != nil {
		err = r.hub.Close()
	}
	if r.store != nil {
		err = errors.Join(err, r.store.Close())
	}
	return errors.Join(err, os.RemoveAll(r.dir))
}

// measure returns how long so many turns took in each channel.
func (r *field) measure(ctx context.Context, turns int, s *screen) (map[string][]time.Duration, error) {
	s.progress("the past of both channels is summed up first, so that they are alike")
	if err := r.sumUp(ctx); err != nil {
		return nil, err
	}
	if err := r.door.until(ctx, func() bool { return r.door.ended[busy] > 0 }); err != nil {
		return nil, err
	}
	took := map[string][]time.Duration{}
	const warmUp = 5
	for round := -warmUp; len(took[busy]) < turns || len(took[quiet]) < turns; round++ {
		if round > 10*turns+100 {
			return nil, errors.New("summaries end too soon for turns to meet one: is the machine very busy?")
		}
		s.progress("turn %d of %d, summaries so far: %d", len(took[busy]), turns, r.door.endings(busy))
		if err := r.sumUp(ctx); err != nil {
			return nil, err
		}
		order := []string{quiet, busy}
		if round%2 == 0 {
			slices.Reverse(order)
		}
		for _, name := range order {
			before := r.door.running(name)
			d, err := r.turn(ctx, name)
			if err != nil {
				return nil, err
			}
			meant := name == busy
			if round >= 0 && before == meant && r.door.running(name) == meant && len(took[name]) < turns {
				took[name] = append(took[name], d)
			}
		}
	}
	return took, nil
}

// sumUp begins a summary in both channels if none is being written in the busy one,
// and waits for the other's, which takes no time.
func (r *field) sumUp(ctx context.Context) error {
	if r.door.running(busy) {
		return nil
	}
	before := r.door.endings(quiet)
	for _, name := range []string{busy, quiet} {
		if _, _, err := r.hub.Run(ctx, name, channel.Person{ID: "1", Name: "Ada", Manager: true}, "/compact"); err != nil {
			return err
		}
	}
	return r.door.until(ctx, func() bool { return r.door.ended[quiet] > before })
}

// turn says something in a channel and returns how long the reply took.
func (r *field) turn(ctx context.Context, name string) (time.Duration, error) {
	r.n++
	id := fmt.Sprint("m", r.n)
	start := time.Now()
	m := channel.Inbound{ID: id, AuthorID: "1", Author: "Ada", Text: "And what do you think about tomorrow, number " + id + "?", Time: start, Addressed: true}
	if _, err := r.hub.Deliver(ctx, name, m); err != nil {
		return 0, err
	}
	var sent time.Time
	err := r.door.until(ctx, func() bool {
		at, there := r.door.sent[id]
		sent = at
		return there
	})
	if err != nil {
		return 0, err
	}
	return sent.Sub(start), r.hub.Idle(ctx, name)
}

type latencies struct {
	Turns     int     `json:"turns"` // in each channel
	ReplyMS   float64 `json:"reply_ms"`
	SummaryMS float64 `json:"summary_ms"`
	Without   spread  `json:"without_summary"`
	With      spread  `json:"with_summary"`
	Ratio     float64 `json:"ratio"`     // of the medians
	Low       float64 `json:"ratio_low"` // it lies between these with 95 %
	High      float64 `json:"ratio_high"`
	Target    float64 `json:"ratio_may_miss_1_by"`
	Met       bool    `json:"met"`
	Summaries int     `json:"summaries_landed"`
}

// verdict says whether the target was met, as far as the noise lets one tell.
func (l latencies) verdict() string {
	switch {
	case l.Met:
		return "met"
	case l.Low > 1+l.Target || l.High < 1-l.Target:
		return "missed"
	}
	return "the machine is too busy to tell; more turns would"
}

// table is the result as people read it.
func (l latencies) table(s *screen, took map[string][]time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %d turns in each of two channels, by turns; a reply takes the model %v, a summary %v\n\n",
		s.paint(bold, "reply latency"), l.Turns, replyTakes, summaryTakes)
	low := min(quantile(took[quiet], 0), quantile(took[busy], 0))
	high := max(quantile(took[quiet], 0.98), quantile(took[busy], 0.98))
	b.WriteString(s.paint(dim, left("", 32)+right("median", 10)+right("p95", 10)+fmt.Sprintf("   %.0f to %.0f ms", low, high)) + "\n")
	for _, r := range []struct {
		name, channel string
		spread
	}{{"no summary in flight", quiet, l.Without}, {"a summary in flight", busy, l.With}} {
		fmt.Fprintf(&b, "%s%s%s   %s\n", left(r.name, 32), s.paint(bold, right(fmt.Sprintf("%.1f ms", r.Median), 10)),
			right(fmt.Sprintf("%.1f ms", r.P95), 10), s.paint(cyan, hills(took[r.channel], low, high)))
	}
	verdict := s.paint(green, l.verdict())
	if !l.Met {
		verdict = s.paint(red, l.verdict())
	}
	fmt.Fprintf(&b, "%s%s%s   target 1.00 ± %.2f: %s\n", left("ratio", 32), s.paint(bold, right(fmt.Sprintf("%.3f", l.Ratio), 10)),
		right(fmt.Sprintf("%.3f", l.With.P95/l.Without.P95), 10), target, verdict)
	fmt.Fprintf(&b, "%s%s\n\n", left("with 95 % between", 32), right(fmt.Sprintf("%.3f and %.3f", l.Low, l.High), 20))
	fmt.Fprintf(&b, "Summaries that landed meanwhile: %d.\n", l.Summaries)
	return b.String()
}
