package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const fuzzHelp = `Fuzz runs every fuzz target of the module for some seconds, one after the other, and adds up
how many inputs were tried. An input that fails is kept under testdata/fuzz beside its
target, where go test finds it from then on.

It is started in the folder of the source. A run in which an input fails ends with 3.`

// fuzzing is what "fuzz" is asked for.
type fuzzing struct {
	seconds int
	json    bool
}

func newFuzz(s *screen) *cobra.Command {
	var f fuzzing
	cmd := &cobra.Command{
		Use:   "fuzz",
		Short: "How many made-up inputs what parses and cuts takes",
		Long:  fuzzHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.seconds < 1 || f.seconds > 100_000 {
				return wrongFlag(cmd, "seconds", f.seconds, "from 1 to 100000")
			}
			return f.run(cmd.Context(), s)
		},
	}
	cmd.Flags().IntVar(&f.seconds, "seconds", 10, "`N` seconds for each target")
	cmd.Flags().BoolVar(&f.json, "json", false, "write JSON")
	return cmd
}

// fuzzed is the whole result.
type fuzzed struct {
	Inputs   int          `json:"inputs"`
	Failures int          `json:"failures"` // targets with an input that fails
	Targets  []fuzzTarget `json:"fuzz_targets"`
}

type fuzzTarget struct {
	Package string `json:"package"`
	Name    string `json:"name"`
	Inputs  int    `json:"inputs"`
	Failure string `json:"failure,omitempty"` // what go test said
}

func (f fuzzing) run(ctx context.Context, s *screen) error {
	defer s.done()
	s.progress("looking for targets")
	targets, err := fuzzTargets(ctx)
	if err != nil {
		return err
	}
	result := fuzzed{}
	for i, t := range targets {
		s.progress("target %d of %d: %s %s; %s inputs so far", i+1, len(targets), t.Package, t.Name, thousands(result.Inputs))
		if err := t.fuzz(ctx, f.seconds); err != nil {
			return err
		}
		if t.Failure != "" {
			result.Failures++
		}
		result.Inputs += t.Inputs
		result.Targets = append(result.Targets, t)
	}
	s.done()
	if f.json {
		err = s.json(result)
	} else {
		_, err = fmt.Fprint(s.out, result.table(s))
	}
	return errors.Join(err, unmet([]goal{atMost("targets with an input that fails", float64(result.Failures), 0, 0)}))
}

// fuzzTargets asks go test for the targets of all packages.
func fuzzTargets(ctx context.Context) (targets []fuzzTarget, err error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-list", "^Fuzz", "cairn/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the fuzz targets: %w\n%s", err, out)
	}
	var names []string // of the package that is named next
	for line := range strings.Lines(string(out)) {
		switch fields := strings.Fields(line); {
		case len(fields) == 1 && strings.HasPrefix(fields[0], "Fuzz"):
			names = append(names, fields[0])
		case len(fields) > 1 && fields[0] == "ok":
			for _, name := range names {
				targets = append(targets, fuzzTarget{Package: fields[1], Name: name})
			}
			names = nil
		}
	}
	if len(targets) == 0 {
		return nil, errors.New("there is no fuzz target")
	}
	return targets, nil
}

var executions = regexp.MustCompile(`^fuzz: elapsed: .*, execs: (\d+)`)

// fuzz tries inputs for so long.
func (t *fuzzTarget) fuzz(ctx context.Context, seconds int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+5*time.Minute) // to build, and to make a failure small
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.Name+"$", "-fuzztime", fmt.Sprintf("%ds", seconds), t.Package)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return fmt.Errorf("fuzz %s of %s: %w", t.Name, t.Package, ctx.Err())
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		if m := executions.FindSubmatch(lines.Bytes()); m != nil {
			t.Inputs, _ = strconv.Atoi(string(m[1]))
		}
	}
	if err != nil && !timeWasUp.Match(out) {
		t.Failure = strings.TrimSpace(string(out))
	}
	return lines.Err()
}

// timeWasUp matches what go test says, now and then, where the time ends while it waits for
// an input, and nothing else is wrong.
var timeWasUp = regexp.MustCompile(`--- FAIL: \w+ \([0-9.]+s\)\n\s+context deadline exceeded\nFAIL\n`)

// table is the result as people read it.
func (f fuzzed) table(s *screen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %d targets\n\n", s.paint(bold, "inputs fuzzed"), len(f.Targets))
	most := 0
	for _, t := range f.Targets {
		most = max(most, t.Inputs)
	}
	for _, t := range f.Targets {
		fmt.Fprintf(&b, "%s%s%s  %s\n", left(t.Package, 20), left(t.Name, 20), right(thousands(t.Inputs), 12), s.paint(cyan, bar(float64(t.Inputs), float64(most), 24)))
		if t.Failure != "" {
			fmt.Fprintf(&b, "%s\n%s\n", s.paint(red, "an input fails:"), t.Failure)
		}
	}
	fmt.Fprintf(&b, "%s%s\n", left("all", 40), s.paint(bold, right(thousands(f.Inputs), 12)))
	return b.String()
}
