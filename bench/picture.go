package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"cairn/compactor"
	"cairn/internal/chart"
	"cairn/internal/promptcache"
)

const pictureHelp = `Picture draws, as an SVG, how many tokens the next request of a long conversation takes, how
many of them are summaries, where the levels are, and when summaries replaced messages.

The conversation and its summaries are generated, as in "bench cost"; the engine, its settings
and its database are the real ones. README shows the picture with the default flags:
  go run ./bench picture > docs/window.svg`

// drawing has the flags of `picture`.
type drawing struct{ turns, window int }

func newPicture(s *screen) *cobra.Command {
	d := drawing{window: smallWindow}
	cmd := &cobra.Command{
		Use: "picture", Short: "Draw a conversation that outgrows its window", Long: pictureHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if d.turns < 2 || d.turns > 100_000 {
				return wrongFlag(cmd, "turns", d.turns, "from 2 to 100000")
			}
			points, err := d.points(cmd.Context(), s)
			if err == nil {
				_, err = fmt.Fprint(s.out, d.svg(points))
			}
			return err
		},
	}
	cmd.Flags().IntVar(&d.turns, "turns", 250, "`N` turns")
	return cmd
}

// point is the state of the window after a turn.
type point struct {
	messages, said int // said: tokens of all messages
	used, head     int // tokens of the next request, and of its summaries
	applied        bool
}

// points runs the conversation and returns a point for each turn.
func (d drawing) points(ctx context.Context, s *screen) (all []point, err error) {
	defer s.done()
	c := &clock{t: time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)}
	rule := promptcache.Rule{Kind: promptcache.Prefix, TTL: cacheTTL}
	e, err := newEngine(ctx, c, d.window, compactor.DefaultPolicy(), rule)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	sum := costSum{meter: newMeter(c, rule)}
	g := e.c.StatusReader()()
	all = append(all, point{used: g.Used, head: g.Head})
	for i, t := range talk(d.turns, 1, false) {
		s.progress("turn %d of %d", i+1, d.turns)
		c.pass(t.gap)
		before := e.applied
		if err := converse(ctx, e, c, t, &sum); err != nil {
			return nil, err
		}
		_, tokens := measure([]turn{t})
		g := e.c.StatusReader()()
		all = append(all, point{
			messages: int(e.c.History().Next() - 1), said: all[len(all)-1].said + tokens,
			head: g.Head, used: g.Used, applied: e.applied > before,
		})
	}
	return all, nil
}

// svg draws the points.
func (d drawing) svg(points []point) string {
	last := points[len(points)-1]
	panel := chart.Panel{Window: d.window}
	p := compactor.DefaultPolicy()
	for _, l := range []struct {
		kind  string
		share float64 // of the window
	}{
		{"prepare", p.Prepare()},
		{"background", p.BackgroundThreshold},
		{"aggressive", p.AggressiveThreshold},
		{"emergency", p.EmergencyThreshold},
	} {
		panel.Levels = append(panel.Levels, chart.Level{
			Name: fmt.Sprintf("%s %.0f %%,", l.kind, 100*l.share), Kind: l.kind, Tokens: int(l.share * float64(d.window)),
		})
	}
	for _, p := range points {
		panel.Points = append(panel.Points, chart.Point{At: int64(p.messages), Used: p.used, Head: p.head, Said: p.said})
		if p.applied {
			panel.Marks = append(panel.Marks, chart.Mark{At: int64(p.messages), Kind: "summaries applied"})
		}
	}
	return chart.Sawtooth{
		Title:  fmt.Sprintf("%s messages, %s tokens, in a window of %s tokens", thousands(last.messages), thousands(last.said), thousands(d.window)),
		Desc:   "Tokens of the next request over messages: they rise to the background level and fall whenever summaries replace messages.",
		Panels: []chart.Panel{panel},
	}.SVG(chart.Options{Standalone: true})
}
