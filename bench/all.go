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

const allHelp = `All runs every benchmark, each in a process of its own, and prints one table: what each of
them measures, and its target. Those that need recordings are run if their folder DIR is named;
"bench recall --help" says what it holds.

It takes about an hour, of which load has 30 minutes; with --quick, where everything is
smaller, about ten minutes. Nothing else should run on the machine.

A run in which a target is missed ends with 3, after all.`

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
	By string `json:"by"` // the command line
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
		one := measured{By: "go run ./" + command}
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

func (r summary) goals() (all []goal) {
	for _, one := range r.Results {
		all = append(all, one.Targets...)
	}
	return all
}

// table formats the result as a Markdown table.
func (r summary) table() string {
	var b strings.Builder
	b.WriteString("| | is | must be | by |\n|---|---|---|---|\n")
	for _, one := range r.Results {
		for _, g := range one.Targets {
			missed := ""
			if !g.Met {
				missed = ", missed"
			}
			fmt.Fprintf(&b, "| %s | %.2f | %g%s | `%s` |\n", g.Name, g.Value, g.Must, missed, one.By)
		}
	}
	fmt.Fprintf(&b, "\nIn %.0f minutes", r.Minutes)
	if r.Load != "" {
		fmt.Fprintf(&b, "; at the end %s processes wanted a processor", r.Load)
	}
	b.WriteString(".\n")
	return b.String()
}
