package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

const allHelp = `All runs every benchmark, one after the other, each in its own process. Those that need recordings
run only with DIR (see "bench recall --help"). It takes about an hour, of which load has 30 minutes;
with --quick, where everything is smaller, about ten minutes. Nothing else should run on the machine.`

func newAll(list []*benchmark) *cobra.Command {
	quick := false
	cmd := &cobra.Command{
		Use: "all [DIR]", Short: "Every benchmark", Long: allHelp, Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAll(cmd, list, strings.Join(args, ""), quick)
		},
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "everything smaller")
	return cmd
}

// runAll runs all benchmarks, so that none is affected by what others leave behind, and then
// reports those that missed a target. A benchmark that fails ends the run.
func runAll(cmd *cobra.Command, list []*benchmark, dir string, quick bool) error {
	var short []string
	for _, b := range list {
		args := b.inAll(dir, quick)
		if args == nil {
			continue
		}
		command := "bench " + strings.Join(args, " ")
		fmt.Fprintf(cmd.OutOrStdout(), "\n## go run ./%s\n\n", command)
		err := runOne(cmd, args)
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit) && exit.ExitCode() == exitMissed:
			short = append(short, command)
		case err != nil:
			return fmt.Errorf("%s: %w", command, err)
		}
	}
	if len(short) > 0 {
		return missed("targets were missed by " + strings.Join(short, ", "))
	}
	return nil
}

func runOne(cmd *cobra.Command, args []string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	run := exec.CommandContext(cmd.Context(), program, args...)
	run.Stdout, run.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	run.Cancel = func() error { return run.Process.Signal(syscall.SIGINT) } // so that it removes its files
	run.WaitDelay = time.Minute
	err = run.Run()
	if stopped := context.Cause(cmd.Context()); stopped != nil {
		return stopped
	}
	return err
}
