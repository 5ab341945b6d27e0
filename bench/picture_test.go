package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"cairn/internal/chart"
	"cairn/internal/check"
)

func TestPicture(t *testing.T) {
	check.SkipUnderRace(t)
	d := drawing{turns: 30, window: 8_000}
	picture, err := d.draw(t.Context(), screenOf(io.Discard, io.Discard))
	must(t, err)
	svg, panel := picture.SVG(chart.Options{Standalone: true}), picture.Panels[0]
	t.Run("it is well-formed", func(t *testing.T) {
		decoder := xml.NewDecoder(strings.NewReader(svg))
		for {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				return
			}
			must(t, err)
		}
	})
	t.Run("the conversation outgrows the window, and no request does", func(t *testing.T) {
		if last := panel.Points[len(panel.Points)-1]; last.Said < 2*d.window {
			t.Errorf("only %d tokens were said", last.Said)
		}
		for _, p := range panel.Points {
			check.That(t, p.Used <= d.window && p.Head <= p.Used, "the next request is %+v", p)
		}
	})
	t.Run("it shows each level, and each time that summaries replaced messages", func(t *testing.T) {
		applied := len(panel.Marks)
		if marks := strings.Count(svg, "chart-mark-summaries applied") - 1; applied == 0 || marks != applied { // one is in the legend
			t.Errorf("%d marks, %d compactions", marks, applied)
		}
		for _, level := range []string{"prepare 60 %", "background 80 %", "aggressive 85 %", "emergency 95 %", "window"} {
			check.That(t, strings.Contains(svg, ">"+level), "no line %q", level)
		}
	})
	t.Run("a flag that cannot be is refused", func(t *testing.T) {
		root := newRoot(new(bytes.Buffer), new(bytes.Buffer))
		root.SetArgs([]string{"picture", "--turns", "1"})
		if err := root.ExecuteContext(t.Context()); exitCode(err) != exitUsage {
			t.Errorf("got %v", err)
		}
	})
}
