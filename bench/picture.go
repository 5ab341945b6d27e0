package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/compactor"
)

const pictureHelp = `Picture draws, as an SVG, how many tokens the next request of a long conversation takes, how
many of them are summaries, where the levels are, and when summaries replaced messages.

The conversation and its summaries are generated, as in "bench cost"; the engine, its settings
and its database are the real ones. README shows the picture with the default flags:
  go run ./bench picture > docs/window.svg`

// drawing is what picture is asked for.
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

// point is how full the window is behind a turn.
type point struct {
	messages, said int // said: the tokens of all of them
	used, head     int // tokens of the next request, and of the summaries in it
	applied        bool
}

// points has the conversation.
func (d drawing) points(ctx context.Context, s *screen) (all []point, err error) {
	defer s.done()
	c := &clock{t: time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)}
	rule := cacheRule{kind: cachePrefix, ttl: cacheTTL}
	e, err := newEngine(ctx, c, d.window, compactor.DefaultPolicy(), rule)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	sum := tally{till: newTill(c, rule)}
	g := e.c.Reading()()
	all = append(all, point{used: g.Used, head: g.Head})
	for i, t := range talk(d.turns, 1, 1, false) {
		s.progress("turn %d of %d", i+1, d.turns)
		c.pass(t.gap)
		before := e.applied
		if err := converse(ctx, e, c, t, &sum); err != nil {
			return nil, err
		}
		_, tokens := measure([]turn{t})
		g := e.c.Reading()()
		all = append(all, point{
			messages: int(e.c.History().Next() - 1), said: all[len(all)-1].said + tokens,
			head: g.Head, used: g.Used, applied: e.applied > before,
		})
	}
	return all, nil
}

// The size of the picture and of the plot in it, in pixels.
const (
	pictureWidth, pictureHeight = 880, 360
	plotLeft, plotTop           = 20, 44
	plotWidth, plotHeight       = 740, 270
	headroom                    = 1.12 // top of the plot, in windows
)

func (d drawing) svg(points []point) string {
	last := points[len(points)-1]
	x := func(messages int) float64 { return plotLeft + plotWidth*float64(messages)/float64(last.messages) }
	y := func(tokens float64) float64 { return plotTop + plotHeight*(1-tokens/(headroom*float64(d.window))) }
	curve := func(value func(point) int) (line string) {
		for _, p := range points {
			if tokens := float64(value(p)); tokens <= headroom*float64(d.window) {
				line += fmt.Sprintf("%.1f,%.1f ", x(p.messages), y(tokens))
			}
		}
		return line
	}
	area := func(value func(point) int) string {
		return fmt.Sprintf("%d,%.1f %s%d,%.1f", plotLeft, y(0), curve(value), plotLeft+plotWidth, y(0))
	}
	var b strings.Builder
	text := func(x, y float64, color, words string) {
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" fill="%s">%s</text>`+"\n", x, y, color, words)
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", pictureWidth, pictureHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", pictureWidth, pictureHeight)
	text(plotLeft, 22, "#222", fmt.Sprintf("%s messages, %s tokens, in a window of %s tokens", thousands(last.messages), thousands(last.said), thousands(d.window)))
	fmt.Fprintf(&b, `<polygon points="%s" fill="#8fb8de"/>`+"\n", area(func(p point) int { return p.used }))
	fmt.Fprintf(&b, `<polygon points="%s" fill="#3b6ea5"/>`+"\n", area(func(p point) int { return p.head }))
	fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="#9a6324" stroke-width="1.5" stroke-dasharray="5 4"/>`+"\n", curve(func(p point) int { return p.said }))
	for _, level := range levels() {
		at := y(level.share * float64(d.window))
		fmt.Fprintf(&b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#777" stroke-width="0.7"/>`+"\n", plotLeft, at, plotLeft+plotWidth, at)
		text(plotLeft+plotWidth+6, at+4, "#444", level.name)
	}
	for _, p := range points {
		if p.applied {
			text(x(p.messages)-5, y(0)+14, "#b3261e", "▲")
		}
	}
	for i, entry := range [][2]string{{"#8fb8de", "■ next request"}, {"#3b6ea5", "■ of it, summaries"}, {"#9a6324", "- - everything said"}, {"#b3261e", "▲ summaries replaced messages"}} {
		text(plotLeft+140*float64(i), y(0)+36, entry[0], entry[1])
	}
	return b.String() + "</svg>\n"
}

type level struct {
	name  string
	share float64 // of the window
}

func levels() []level {
	p := compactor.DefaultPolicy()
	named := func(name string, share float64) level {
		return level{fmt.Sprintf("%s %.0f %%", name, 100*share), share}
	}
	return []level{
		{"0", 0},
		named("prepare", p.Prepare()),
		named("background", p.BackgroundThreshold),
		named("aggressive", p.AggressiveThreshold),
		named("emergency", p.EmergencyThreshold),
		{"window", 1},
	}
}
