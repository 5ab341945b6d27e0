package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// result is the result of a benchmark. It is written as JSON or as a table.
type result interface {
	goals() []goal
}

// failing is a result that may show that what was measured is wrong, whatever the targets are.
type failing interface {
	failure() error
}

// benchmark is a command that measures something.
type benchmark struct {
	*cobra.Command
	checks []func() error
}

// benchmarks returns all benchmarks.
func benchmarks() []*benchmark {
	return []*benchmark{
		newLoad(), newTurn(), newIdle(), newStart(), newImport(), newCrash(), newMachines(), newFaults(), newModels(), newLatency(),
		newCost(), newTools(), newRecall(), newFacts(), newJudge(), newRetention(), newPrompts(),
	}
}

// newBenchmark returns the command of a benchmark. use is its name, followed by DIR or DIR… if it requires
// recordings.
func newBenchmark(use, short, help string, measure func(ctx context.Context, s *screen, dirs []string) (result, error)) *benchmark {
	b := &benchmark{}
	asJSON := false
	b.Command = &cobra.Command{
		Use: use, Short: short, Long: help, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, check := range b.checks {
				if err := check(); err != nil {
					return err
				}
			}
			s := screenOf(cmd.OutOrStdout(), cmd.ErrOrStderr())
			defer s.done()
			r, err := measure(cmd.Context(), s, args)
			if err != nil {
				return err
			}
			s.done()
			return s.conclude(asJSON, r)
		},
	}
	switch {
	case strings.HasSuffix(use, " DIR"):
		b.Args = cobra.ExactArgs(1)
	case strings.HasSuffix(use, " DIR…"):
		b.Args = cobra.MinimumNArgs(1)
	}
	b.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return b
}

// integer adds a flag with a value from least to most.
func (b *benchmark) integer(into *int, name string, value, least, most int, usage string) {
	b.Flags().IntVar(into, name, value, usage)
	within(b, name, into, least, most)
}

// integers adds a flag with a list of values from least to most.
func (b *benchmark) integers(into *[]int, name string, values []int, least, most int, usage string) {
	b.Flags().IntSliceVar(into, name, values, usage)
	b.checks = append(b.checks, func() error {
		if slices.Min(*into) < least || slices.Max(*into) > most {
			return wrongFlag(b.Command, name, *into, fmt.Sprintf("from %d to %d", least, most))
		}
		return nil
	})
}

// within adds a check that the value of a flag is from least to most.
func within[T cmp.Ordered](b *benchmark, name string, value *T, least, most T) {
	b.checks = append(b.checks, func() error {
		if *value >= least && *value <= most { // false for NaN
			return nil
		}
		return wrongFlag(b.Command, name, *value, fmt.Sprintf("from %v to %v", least, most))
	})
}
