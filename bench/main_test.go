package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cairn/internal/check"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // as the program's default has it: what is rendered must not depend on the machine
	check.InMemory()
	goleak.VerifyTestMain(m, goleak.Cleanup(compileOnce()))
}

// compileOnce makes all benchmarks share one binary. end removes it and ends the process.
func compileOnce() (end func(exitCode int)) {
	dir, err := os.MkdirTemp("", "cairn-bench-")
	if err != nil {
		panic(err)
	}
	compile, binary := compileCairn, filepath.Join(dir, "cairn")
	compiled := sync.OnceValue(func() error { return compile(context.Background(), binary) })
	compileCairn = func(_ context.Context, file string) error {
		if err := compiled(); err != nil {
			return err
		}
		return os.Link(binary, file)
	}
	return func(exitCode int) {
		_ = os.RemoveAll(dir)
		os.Exit(exitCode)
	}
}

func TestCommandLine(t *testing.T) {
	for _, args := range []string{
		"nothing", "cost more", "cost --turns 0", "cost --turns many", "latency --turns -1", "latency --slow",
		"latency --summary 0s", "faults --seeds 0", "recall", "recall testdata --rows 7", "recall testdata --rows many",
		"models --turns 0", "crash --kills 0", "crash --seed -1", "load --channels 1", "load --minutes NaN", "load --rate 0",
		"turn --turns 0", "turn --channels 0", "idle --channels 0", "start --messages 1", "retention",
		"retention testdata --window 100", "retention testdata --window many", "picture --turns 1",
	} {
		_, err := ran(t, strings.Fields(args)...)
		check.Equal(t, args+": exit code", exitCode(err), exitUsage)
		check.ErrorContains(t, args, err, "--help")
	}
	for _, args := range []string{"", "--help"} {
		text, err := ran(t, strings.Fields(args)...)
		check.NoError(t, err)
		check.Contains(t, "the output", text, "latency", "cost", "Exit codes")
	}
	check.Equal(t, "exit code of a missed target", exitCode(errors.Join(missed("by far"))), exitMissed)
	check.Equal(t, "exit code of a failure", exitCode(errors.New("no disk")), exitFailed)
}

// TestLatency measures a few turns, in real time: what the figures are on a machine
// that runs tests is nobody's business.
func TestLatency(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	l, _ := ranAs[latencies](t, "latency", "--turns", "3", "--summary", "500ms")
	check.That(t, l.Without.Median >= ms(replyDelay) && l.With.Median >= ms(replyDelay) && l.Turns == 3 && len(l.Targets) == 1, "%+v", l)
}

func TestQuantile(t *testing.T) {
	all := []time.Duration{40 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 20 * time.Millisecond}
	for share, want := range map[float64]float64{0: 10, 0.5: 25, 1: 40} {
		check.Equal(t, fmt.Sprint("quantile ", share), quantile(all, share), want)
	}
	low, high := confidenceInterval(all, all)
	check.That(t, low < 1 && high > 1, "a ratio of 1 is between %v and %v", low, high)
}

var silent = screenOf(io.Discard, io.Discard)

func ran(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRoot(&out, io.Discard)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// ranAs runs bench, and returns what it wrote as JSON and which targets it missed; on a busy machine
// some are.
func ranAs[T any](t *testing.T, args ...string) (result T, missing error) {
	t.Helper()
	out, err := ran(t, append(args, "--json")...)
	check.Require(t, err == nil || errors.As(err, new(missed)), "%q: %v\n%s", args, err, out)
	check.NoError(t, json.Unmarshal([]byte(out), &result))
	return result, err
}

func TestPicture(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	d := drawing{turns: 22, window: 6_000}
	picture := check.Must(d.draw(t.Context(), silent))(t)
	svg, panel := picture.File(), picture.Panels[0]
	check.NoError(t, xml.Unmarshal([]byte(svg), new(struct{}))) // it is well-formed
	// The conversation outgrows the window, and no request does.
	last := panel.Points[len(panel.Points)-1]
	check.That(t, last.Said >= 2*d.window, "only %d tokens were said", last.Said)
	for _, p := range panel.Points {
		check.That(t, p.Used <= d.window && p.Head <= p.Used, "the next request is %+v", p)
	}
	// It shows each level, and each time that summaries replaced messages; one mark is in the legend.
	check.Require(t, len(panel.Marks) > 0, "no compactions")
	check.Equal(t, "marks", strings.Count(svg, "chart-mark-summaries applied")-1, len(panel.Marks))
	check.Contains(t, "the levels", svg, ">prepare 60 %", ">background 80 %", ">aggressive 85 %", ">emergency 95 %", ">window")
}
