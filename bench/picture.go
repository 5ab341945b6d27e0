package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"cairn/compactor"
	"cairn/internal/chart"
	"cairn/llm"
	"cairn/simulate"
)

const pictureHelp = `Picture draws the conversation of "bench cost" as an SVG: the tokens of its next request, how many of
them are summaries, the levels, and when summaries replaced messages. README shows the result with
the default flags.`

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
			picture, err := d.draw(cmd.Context(), s)
			if err == nil {
				_, err = fmt.Fprint(s.out, picture.File())
			}
			return err
		},
	}
	cmd.Flags().IntVar(&d.turns, "turns", 250, "`N` turns")
	return cmd
}

// draw runs the conversation, and adds a point for each turn.
func (d drawing) draw(ctx context.Context, s *screen) (picture chart.Sawtooth, err error) {
	defer s.done()
	c := &clock{t: time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)}
	rule := cacheRule{kind: llm.CachePrefix, ttl: cacheTTL}
	e, err := newEngine(ctx, c, d.window, compactor.DefaultPolicy(), rule)
	if err != nil {
		return picture, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	sum := costSum{meter: newMeter(c, rule)}
	panel := chart.Panel{Window: d.window, Levels: simulate.LevelsOf(compactor.DefaultPolicy(), d.window)}
	said := 0
	g := e.c.StatusReader()()
	panel.Points = append(panel.Points, chart.Point{Used: g.Used, Head: g.Head})
	for i, t := range talk(d.turns, 1, false) {
		s.progress("turn %d of %d", i+1, d.turns)
		c.pass(t.gap)
		before := e.applied
		if err := converse(ctx, e, c, t, &sum); err != nil {
			return picture, err
		}
		_, tokens := measure([]turn{t})
		said += tokens
		at := e.c.View().Next - 1
		g := e.c.StatusReader()()
		panel.Points = append(panel.Points, chart.Point{At: at, Used: g.Used, Head: g.Head, Said: said})
		if e.applied > before {
			panel.Marks = append(panel.Marks, chart.Mark{At: at, Kind: "summaries applied"})
		}
	}
	return chart.Sawtooth{
		Title:  fmt.Sprintf("%s messages, %s tokens, in a window of %s tokens", thousands(int(e.c.View().Next-1)), thousands(said), thousands(d.window)),
		Desc:   "Tokens of the next request over messages: they rise to the background level and fall whenever summaries replace messages.",
		Panels: []chart.Panel{panel},
	}, nil
}
