package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/check"

	"go.uber.org/goleak"
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
	run := func(args ...string) (string, int, error) {
		var out, progress bytes.Buffer
		root := newRoot(&out, &progress)
		root.SetArgs(args)
		err := root.ExecuteContext(t.Context())
		return out.String() + progress.String(), exitCode(err), err
	}
	for _, args := range [][]string{
		{"nothing"},
		{"cost", "more"},
		{"cost", "--turns", "0"},
		{"cost", "--turns", "many"},
		{"latency", "--turns", "-1"},
		{"latency", "--slow"},
		{"latency", "--summary", "0s"},
		{"faults", "--seeds", "0"},
		{"recall"},
		{"recall", "testdata", "--rows", "7"},
		{"recall", "testdata", "--rows", "many"},
		{"models", "--turns", "0"},
		{"crash", "--kills", "0"},
		{"crash", "--seed", "-1"},
		{"load", "--channels", "1"},
		{"load", "--minutes", "NaN"},
		{"load", "--rate", "0"},
		{"turn", "--turns", "0"},
		{"turn", "--channels", "0"},
		{"idle", "--channels", "0"},
		{"start", "--messages", "1"},
	} {
		if _, code, err := run(args...); code != exitUsage || !strings.Contains(err.Error(), "--help") {
			t.Errorf("%q: exit code %d, %v", args, code, err)
		}
	}
	for _, args := range [][]string{{}, {"--help"}} {
		text, code, err := run(args...)
		if code != 0 || !strings.Contains(text, "latency") || !strings.Contains(text, "cost") || !strings.Contains(text, "Exit codes") {
			t.Errorf("%q: exit code %d, %v\n%s", args, code, err, text)
		}
	}
	if exitCode(errors.Join(missed("by far"))) != exitMissed || exitCode(errors.New("no disk")) != exitFailed {
		t.Error("a missed target and a failure are not told apart")
	}
}

// TestLatency measures a few turns, in real time: what the figures are on a machine
// that runs tests is nobody's business.
func TestLatency(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	l := ranAs[latencies](t, "latency", "--turns", "3", "--summary", "500ms")
	if reply := ms(replyDelay); l.Without.Median < reply || l.With.Median < reply || l.Turns != 3 || len(l.Targets) != 1 {
		t.Errorf("%+v", l)
	}
}

func TestQuantile(t *testing.T) {
	all := []time.Duration{40 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 20 * time.Millisecond}
	for share, want := range map[float64]float64{0: 10, 0.5: 25, 1: 40} {
		if got := quantile(all, share); got != want {
			t.Errorf("quantile %v: %v, want %v", share, got, want)
		}
	}
	if low, high := confidenceInterval(all, all); low >= 1 || high <= 1 {
		t.Errorf("a ratio of 1 is between %v and %v", low, high)
	}
}

// ranAs runs bench, and returns what it wrote as JSON; a target that is missed on a busy
// machine is none of the test's.
func ranAs[T any](t *testing.T, args ...string) (result T) {
	t.Helper()
	var out, progress bytes.Buffer
	root := newRoot(&out, &progress)
	root.SetArgs(append(args, "--json"))
	if err := root.ExecuteContext(t.Context()); err != nil && !errors.As(err, new(missed)) {
		t.Fatalf("%q: %v\n%s", args, err, progress.String())
	}
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out.String())
	}
	return result
}

func must(t testing.TB, err error) {
	t.Helper()
	check.NoError(t, err)
}
