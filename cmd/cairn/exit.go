// Exit codes, for scripts.

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cairn/store"
)

// The exit codes, as exitHelp explains them. A signal adds its number to exitSignal. None is 2, the
// code of a Go program that panics: services are set to restart after that one.
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
  1  the command failed; standard error says why. A turn that fails is reported in the
     conversation and does not change the exit code
  2  the program crashed, which is a bug; the next start answers the accepted messages
  3  in use: another cairn uses the data folder, or people talk in the channel
  4  not found: no such channel, memory, file or data folder; a missing settings file is 64
  5  the database cannot be used: it is damaged, or a newer cairn wrote it
  64 the command line or the settings are invalid
  130, 143  stopped by SIGINT or SIGTERM; the next start answers the accepted messages
  141  the reader of the output closed the pipe`

// usageError is a mistake in the command line or the settings.
type usageError struct {
	err     error
	command string // whose help explains it; empty: none does
}

func (e usageError) Error() string {
	if e.command == "" {
		return e.err.Error()
	}
	return e.err.Error() + "; see `" + e.command + " --help`"
}

func (e usageError) Unwrap() error { return e.err }

func usage(err error) error { return usageError{err: err} }

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
	case errors.Is(err, store.ErrInUse), errors.Is(err, store.ErrLive):
		return exitInUse
	case errors.Is(err, store.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return exitNotFound
	case errors.Is(err, store.ErrBadBackup): // the database itself is intact
		return exitFailed
	case errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrNewer):
		return exitDamaged
	}
	return exitFailed
}

// args accepts from least to most arguments; most < 0: any number.
func args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		switch n := len(given); {
		case n < least:
			return wrongUse(cmd, fmt.Errorf("an argument is missing: %s", cmd.UseLine()))
		case most >= 0 && n > most:
			return wrongUse(cmd, fmt.Errorf("%q is one argument too many: %s", given[most], cmd.UseLine()))
		}
		return nil
	}
}

// checkChoice checks a flag whose values are limited to known. Empty is allowed if it is the
// default.
func checkChoice(cmd *cobra.Command, flag, value string, known []string) error {
	declared := cmd.Flag(flag) // nil: this command has none
	if slices.Contains(known, value) || value == "" && (declared == nil || declared.DefValue == "") {
		return nil
	}
	return wrongUse(cmd, fmt.Errorf("--%s %q: must be one of %s", flag, value, strings.Join(known, ", ")))
}

func wrongUse(cmd *cobra.Command, err error) error {
	if unread, is := errors.AsType[*strconv.NumError](err); is { // of a flag
		kind := map[bool]string{true: "true or false", false: "a whole number"}[unread.Func == "ParseBool"]
		err = errors.New(strings.Replace(err.Error(), unread.Error(), "it must be "+kind, 1))
	}
	return usageError{err, cmd.CommandPath()}
}
