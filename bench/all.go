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

	"github.com/spf13/cobra"
)

const allHelp = `All runs every benchmark, each in a process of its own, and prints one table of what docs/benchmarks.md
shows. Those that need recordings are run if their folder DIR is named; "bench recall --help"
says what it holds.

It takes about an hour, of which load has 30 minutes; with --quick, where
everything is smaller, about a quarter of an hour. Nothing else should run on the machine.

A run in which a target is missed ends with 3, after all.`

// whole is what "all" is asked for.
type whole struct {
	dir   string // of the recordings; "": there are none
	quick bool
	json  bool
}

func newAll(s *screen) *cobra.Command {
	var a whole
	cmd := &cobra.Command{
		Use:   "all [DIR]",
		Short: "Every benchmark, and one table of what they say",
		Long:  allHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				a.dir = args[0]
			}
			return a.run(cmd.Context(), s)
		},
	}
	cmd.Flags().BoolVar(&a.quick, "quick", false, "everything smaller")
	cmd.Flags().BoolVar(&a.json, "json", false, "write JSON")
	return cmd
}

// figure is a line of the table.
type figure struct {
	What  string `json:"what"`
	Value string `json:"value"`
	By    string `json:"by"` // the command
}

// summary is the whole result.
type summary struct {
	Figures []figure `json:"figures"`
	Missed  []string `json:"missed"` // what was, by whom
	Minutes float64  `json:"minutes"`
	Load    string   `json:"load,omitempty"` // of the machine, at the end
}

func (a whole) run(ctx context.Context, s *screen) error {
	defer s.done()
	result, begun := summary{Missed: []string{}}, time.Now()
	for _, b := range benchmarks {
		args := b.inAll(a)
		if args == nil {
			continue
		}
		s.done()
		fmt.Fprintf(s.err, "bench %s\n", strings.Join(args, " "))
		figures, miss, err := runOne(ctx, s, b, args)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		for i := range figures {
			figures[i].By = "go run ./bench " + strings.Join(args, " ")
		}
		result.Figures = append(result.Figures, figures...)
		if miss != "" {
			result.Missed = append(result.Missed, args[0]+": "+miss)
		}
	}
	result.Minutes, result.Load = time.Since(begun).Minutes(), busyMachine()
	s.done()
	var err error
	if a.json {
		err = s.json(result)
	} else {
		_, err = fmt.Fprint(s.out, result.table())
	}
	if err == nil && len(result.Missed) > 0 {
		err = missed(strings.Join(result.Missed, "; "))
	}
	return err
}

// runOne runs a benchmark in a process of its own, so that none is measured with what
// another left behind, and returns its figures, and what it missed.
func runOne(ctx context.Context, s *screen, b benchmark, args []string) (figures []figure, miss string, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	var out, told bytes.Buffer
	cmd := exec.CommandContext(ctx, program, append(args, "--json")...)
	cmd.Stdout, cmd.Stderr = &out, &told
	if s.watched {
		cmd.Stderr = io.MultiWriter(s.err, &told)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) } // it removes its files then
	cmd.WaitDelay = time.Minute
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() == exitMissed:
		_, miss, _ = strings.Cut(told.String(), "bench: ")
	case err != nil:
		return nil, "", fmt.Errorf("%w\n%s", err, told.String())
	}
	figures, err = b.figures(out.Bytes())
	return figures, strings.TrimSpace(miss), err
}

// tell makes figures of a result that was written as JSON.
func tell[T any](f func(T) []figure) func([]byte) ([]figure, error) {
	return func(text []byte) ([]figure, error) {
		var result T
		if err := json.Unmarshal(text, &result); err != nil {
			return nil, fmt.Errorf("read its result: %w", err)
		}
		return f(result), nil
	}
}

// table is the result in the form in which docs/benchmarks.md has it.
func (r summary) table() string {
	var b strings.Builder
	columns := [][3]string{{"", "", "by"}, {"---", "---", "---"}}
	for _, f := range r.Figures {
		columns = append(columns, [3]string{f.What, f.Value, "`" + f.By + "`"})
	}
	for _, c := range columns {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c[0], c[1], c[2])
	}
	fmt.Fprintf(&b, "\nIn %.0f minutes", r.Minutes)
	if r.Load != "" {
		fmt.Fprintf(&b, "; at the end %s processes wanted a processor", r.Load)
	}
	b.WriteString(".\n")
	for _, m := range r.Missed {
		fmt.Fprintf(&b, "missed: %s\n", m)
	}
	return b.String()
}
