package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
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

func TestOverhead(t *testing.T) {
	o := ranAs[overhead](t, "overhead", "--turns", "40", "--channels", "2")
	if o.Turn <= 0 || o.Writes <= 0 || o.Turn <= o.Overhead {
		t.Errorf("%+v", o)
	}
}

func TestIdle(t *testing.T) {
	i := ranAs[idle](t, "idle", "--channels", "100")
	if i.Open < 2 || i.Open > 60 { // a goroutine alone has 2
		t.Errorf("a silent channel takes %v KB", i.Open)
	}
}

func TestStart(t *testing.T) {
	r := ranAs[started](t, "start", "--messages", "300")
	if len(r.Shapes) != 3 || r.Shapes[0].Median <= 0 || r.Shapes[1].Median <= 0 || r.Shapes[2].CPU <= 0 {
		t.Errorf("%+v", r)
	}
}

// Each benchmark has a place in the table, with or without its result.
func TestEveryBenchmarkHasFigures(t *testing.T) {
	for _, b := range benchmarks {
		name := b.command(screenOf(new(bytes.Buffer), new(bytes.Buffer))).Name()
		for _, a := range []whole{{dir: "testdata"}, {dir: "testdata", quick: true}} {
			if args := b.inAll(a); len(args) == 0 || args[0] != name {
				t.Errorf("%s is run as %q", name, args)
			}
		}
		if _, err := b.figures([]byte("{}")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := b.figures([]byte("no JSON")); err == nil {
			t.Errorf("%s makes something of what is no JSON", name)
		}
	}
	if args := benchmarks[len(benchmarks)-1].inAll(whole{}); args != nil {
		t.Errorf("without recordings it runs %q", args)
	}
}

func TestAllIsOneTable(t *testing.T) {
	t.Setenv(asBench, "1")
	before := benchmarks
	defer func() { benchmarks = before }()
	benchmarks = nil
	for _, b := range before {
		args := map[string][]string{"idle": {"idle", "--channels", "3"}, "cost": {"cost", "--turns", "3"}}[b.command(screenOf(new(bytes.Buffer), new(bytes.Buffer))).Name()]
		if args != nil {
			b.inAll = func(whole) []string { return args }
			benchmarks = append(benchmarks, b)
		}
	}
	r := ranAs[summary](t, "all")
	text := r.table()
	for _, want := range []string{"| memory of a silent channel |", "KB", "`go run ./bench idle --channels 3`", "`go run ./bench cost --turns 3`"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	benchmarks[0].inAll = func(whole) []string { return []string{"idle", "--channels", "none"} }
	root := newRoot(new(bytes.Buffer), new(bytes.Buffer))
	root.SetArgs([]string{"all"})
	if err := root.ExecuteContext(t.Context()); exitCode(err) != exitFailed || !strings.Contains(err.Error(), "invalid argument") {
		t.Errorf("one that cannot be run: %v", err)
	}
}
