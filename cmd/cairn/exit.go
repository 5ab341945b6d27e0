// What the exit code tells a script.
package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cairn/memory"
)

// The exit codes, as exitHelp explains them. A signal adds its number to exitSignal. None is 2,
// with which Go's runtime ends a program that panics: a service restarts after that one.
const (
	exitFailed   = 1
	exitInUse    = 3
	exitNotFound = 4
	exitDamaged  = 5
	exitUsage    = 64 // EX_USAGE of sysexits.h
	exitSignal   = 128
)

const exitHelp = `Exit codes:
  0  done
  1  the command failed; why stands on standard error. A turn that fails is told in
     the conversation and does not change the exit code
  2  the program crashed: this is a defect; what was accepted is answered at the next start
  3  in use: another cairn works on the data folder, or people talk in the channel
  4  not found: there is no such channel, memory or data folder
  5  the database cannot be used: it is damaged, or a newer cairn wrote it
  64 the command line or the settings are wrong
  130, 143  stopped by SIGINT or SIGTERM; what was accepted is answered at the next start
  141  whoever read the output closed it`

// usageError is a mistake in the command line or the settings.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(err error) error { return usageError{err} }

func exitCode(err error) int {
	var stopped signalled
	var wrong usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &stopped):
		return exitSignal + int(stopped.signal)
	case errors.As(err, &wrong):
		return exitUsage
	case errors.Is(err, memory.ErrInUse), errors.Is(err, memory.ErrLive):
		return exitInUse
	case errors.Is(err, memory.ErrNotFound):
		return exitNotFound
	case errors.Is(err, memory.ErrBadBackup): // the database itself is well
		return exitFailed
	case errors.Is(err, memory.ErrDamaged), errors.Is(err, memory.ErrNewer):
		return exitDamaged
	}
	return exitFailed
}

// args makes a mistake in the arguments a usage error that names the way out.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return wrongUse(cmd, check(cmd, args)) }
}

// needs takes at least and at most so many arguments, and says what to do where some
// are missing.
func needs(least, most int, todo string) cobra.PositionalArgs {
	return args(func(_ *cobra.Command, given []string) error {
		switch {
		case len(given) < least:
			return errors.New(todo)
		case len(given) > most:
			return fmt.Errorf("%q is one argument too many", given[most])
		}
		return nil
	})
}

// noArgs takes none.
var noArgs = needs(0, 0, "")

// wrongFlag is a flag that cannot be understood, in words for people.
func wrongFlag(cmd *cobra.Command, err error) error {
	var number *strconv.NumError
	if errors.As(err, &number) && number.Func == "ParseInt" {
		err = errors.New(strings.Replace(err.Error(), number.Error(), "must be a whole number", 1))
	}
	return wrongUse(cmd, err)
}

func wrongUse(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	return usageError{&helpfulError{err, cmd.CommandPath()}}
}

// helpfulError is an error that says where help is.
type helpfulError struct {
	err     error
	command string
}

func (e *helpfulError) Error() string {
	return e.err.Error() + "; `" + e.command + " --help` tells more"
}

func (e *helpfulError) Unwrap() error { return e.err }
