package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const allHelp = `All runs every benchmark, each in its own process, and prints one table of all targets. Those that
need recordings run only with DIR (see "bench recall --help"). It takes about an hour, of which load
has 30 minutes; with --quick, where everything is smaller, about ten minutes. Nothing else should run
on the machine.`

func newAll(list []*benchmark) *benchmark {
	quick := false
	b := newBenchmark("all [DIR]", "Every benchmark, and one table of what they measure", allHelp, func(ctx context.Context, s *screen, dir string) (result, error) {
		return runAll(ctx, s, list, dir, quick)
	})
	b.Flags().BoolVar(&quick, "quick", false, "everything smaller")
	return b
}

// summary is the result of all benchmarks.
type summary struct {
	Results []measured `json:"results"`
	Minutes float64    `json:"minutes"`
	Load    string     `json:"load,omitempty"` // load average at the end
}

// measured is the result of one benchmark.
type measured struct {
	Name string `json:"name"`
	By   string `json:"by"` // the command line
	targets
	Result json.RawMessage `json:"result"`
}

func runAll(ctx context.Context, s *screen, list []*benchmark, dir string, quick bool) (all summary, err error) {
	start := time.Now()
	for _, b := range list {
		args := b.inAll(dir, quick)
		if args == nil {
			continue
		}
		command := "bench " + strings.Join(args, " ")
		s.done()
		fmt.Fprintln(s.err, command)
		one := measured{Name: b.Name(), By: "go run ./" + command}
		if one.Result, err = runOne(ctx, s, args); err == nil {
			err = json.Unmarshal(one.Result, &one.targets)
		}
		if err != nil {
			return all, fmt.Errorf("%s: %w", command, err)
		}
		all.Results = append(all.Results, one)
	}
	all.Minutes, all.Load = time.Since(start).Minutes(), loadAverage()
	return all, nil
}

// runOne runs a benchmark in its own process, so that it is not affected by what others leave
// behind, and returns its JSON output.
func runOne(ctx context.Context, s *screen, args []string) ([]byte, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, append(args, "--json")...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if s.watched {
		cmd.Stderr = io.MultiWriter(s.err, &stderr)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) } // so that it removes its files
	cmd.WaitDelay = time.Minute
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() == exitMissed:
	case err != nil:
		return nil, fmt.Errorf("%w\n%s", err, stderr.String())
	}
	return out.Bytes(), nil
}

// goals returns the goals of all benchmarks, each with the name of its benchmark.
func (r summary) goals() (all []goal) {
	for _, one := range r.Results {
		for _, g := range one.Targets {
			g.Name = one.Name + ": " + g.Name
			all = append(all, g)
		}
	}
	return all
}
