package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"cairn/internal/check"
)

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

func TestTurnMeasuresTheProgram(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds the program")
	}
	r := ranAs[turnResult](t, "turn", "--channels", "2", "--turns", "3")
	if r.Turns != 6 || r.CPU <= 0 || r.Largest < turnChars*5 {
		t.Errorf("%+v", r)
	}
}

func TestIdle(t *testing.T) {
	i := ranAs[idle](t, "idle", "--channels", "100")
	if i.Open < 2 || i.Open > 60 { // a goroutine alone has 2
		t.Errorf("a silent channel takes %v KB", i.Open)
	}
}

func TestStart(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	r := ranAs[started](t, "start", "--messages", "300")
	if len(r.Shapes) != 3 || r.Shapes[0].Median <= 0 || r.Shapes[1].Median <= 0 || r.Shapes[2].CPU <= 0 {
		t.Errorf("%+v", r)
	}
}

// Each benchmark has a place in the table, those with recordings if there are any.
func TestEveryBenchmarkIsInAll(t *testing.T) {
	for _, b := range benchmarks() {
		for _, quick := range []bool{true, false} {
			if args := b.inAll("testdata", quick); len(args) == 0 || args[0] != b.Name() {
				t.Errorf("%s is run as %q", b.Name(), args)
			} else if err := b.ParseFlags(args[1:]); err != nil {
				t.Errorf("%q: %v", args, err)
			}
		}
		if args := b.inAll("", false); b.recorded != (args == nil) {
			t.Errorf("without recordings %s runs as %q", b.Name(), args)
		}
	}
}

func TestAllRunsEachInAProcess(t *testing.T) {
	t.Setenv(asBench, "1")
	run := func(flags string) (string, error) {
		idle, cost := newIdle(), newCost()
		idle.full, cost.full = flags, "--turns 3"
		var out, progress bytes.Buffer
		all := newAll([]*benchmark{idle, cost})
		all.SetOut(&out)
		all.SetErr(&progress)
		all.SetArgs(nil)
		err := all.ExecuteContext(t.Context())
		return out.String(), err
	}
	text, err := run("--channels 3")
	if err != nil && !errors.As(err, new(missed)) {
		t.Fatal(err)
	}
	for _, want := range []string{"## go run ./bench idle --channels 3", "KB of a silent channel", "must 30", "## go run ./bench cost --turns 3"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if _, err := run("--channels none"); exitCode(err) != exitFailed || !strings.Contains(err.Error(), "bench idle --channels none") {
		t.Errorf("one that cannot be run: %v", err)
	}
}
