// Command bench measures Cairn. It produces the figures in docs/benchmarks.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	time.Local = time.UTC // results must not depend on the machine's time zone
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := newRoot(os.Stdout, os.Stderr).ExecuteContext(ctx)
	stopped := ctx.Err() != nil
	stop()
	code := exitCode(err)
	switch {
	case err == nil:
	case stopped:
		fmt.Fprintln(os.Stderr, "bench: stopped; nothing was measured to the end")
		code = exitStopped
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	os.Exit(code)
}

// The exit codes, as exitHelp explains them.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitMissed  = 3
	exitStopped = 130
)

const exitHelp = `Exit codes:
  0  measured
  1  the measurement failed, or found a fault
  2  the command line is wrong
  3  measured, and a target of the benchmark was missed
  130  stopped by a signal`

// missed is the error of a target that was missed.
type missed string

func (m missed) Error() string { return string(m) }

// usageError is a mistake in the command line.
type usageError struct{ error }

func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.As(err, new(missed)):
		return exitMissed
	case errors.As(err, new(usageError)):
		return exitUsage
	}
	return exitFailed
}

func newRoot(out, progress io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "bench",
		Short: "Measure Cairn",
		Long: `Bench measures the real engine on real files with a scripted model, so that a run needs no key,
costs nothing and can be repeated; only "prompts" and "facts" call a model that you name. It writes to the temporary folder, and removes its files.

` + exitHelp,
		Example: `  go run ./bench load --minutes 3    a thousand concurrent channels
  go run ./bench cost --json | jq .  the cost of a long conversation, for a program`,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(out)
	root.SetErr(progress)
	root.SetFlagErrorFunc(wrongUse)
	root.CompletionOptions.HiddenDefaultCmd = true
	for _, b := range benchmarks() {
		root.AddCommand(b.Command)
	}
	root.AddCommand(newPicture(screenOf(out, progress)))
	each := append(root.Commands(), root)
	for _, cmd := range each {
		check := cmd.Args
		cmd.Args = func(cmd *cobra.Command, args []string) error { return wrongUse(cmd, check(cmd, args)) }
	}
	return root
}

func wrongUse(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	return usageError{fmt.Errorf("%w; `%s --help` tells more", err, cmd.CommandPath())}
}

// wrongFlag returns an error about an invalid value of a flag.
func wrongFlag(cmd *cobra.Command, name string, value any, want string) error {
	return wrongUse(cmd, fmt.Errorf("--%s %v: must be %s", name, value, want))
}
