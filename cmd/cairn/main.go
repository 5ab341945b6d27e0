// Command cairn is a chat bot whose conversations never end.
//
// This file has its start and end: signals, arguments, exit codes; and the redactor, because no secret
// reaches the log or standard error, whatever its source.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"cairn/internal/secrets"
	"cairn/store"
)

func main() {
	a := &app{console: console{in: os.Stdin, out: os.Stdout, err: os.Stderr}}
	ctx, stop := untilSignal(a.interrupted)
	defer stop()
	os.Exit(execute(ctx, a, os.Args[1:]))
}

func execute(ctx context.Context, a *app, args []string) int {
	a.help.Writer = a.out
	root := newRoot(a)
	root.SetArgs(args)
	err := cmp.Or(root.ExecuteContext(ctx), a.help.err)
	if errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	var stopped signalled
	if err != nil && !errors.As(err, &stopped) {
		text := "cairn: " + a.secrets.mask(a.withRemedy(err).Error())
		fmt.Fprintln(a.err, wrapped(a.err, text))
	}
	return exitCode(err)
}

// signalled is the cause of a context that was canceled by a signal.
type signalled struct{ signal syscall.Signal }

func (s signalled) Error() string { return "stopped by a signal: " + s.signal.String() }

// untilSignal returns a context that the first SIGINT or SIGTERM cancels, unless interrupted says that a SIGINT was for
// something else. A second one ends the program immediately.
func untilSignal(interrupted func() bool) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signal.Ignore(syscall.SIGXFSZ) // at a file size limit the write then fails with an error that can be explained
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		for s := range signals {
			if s == syscall.SIGINT && interrupted() {
				continue
			}
			signal.Stop(signals)
			cancel(signalled{s.(syscall.Signal)})
			return
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

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
  1  the command failed; standard error says why. A failed turn is a failure of ask only
  2  the program crashed, which is a bug; the next start answers the accepted messages
  3  in use: another cairn uses the data folder, or people talk in the channel
  4  not found: no such channel, memory, file or data folder; a missing settings file is 64
  5  the database cannot be used: it is damaged, deleted or replaced, a newer cairn wrote it, or
     it is an unfinished copy
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
	case errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrReplaced), errors.Is(err, store.ErrNewer), errors.Is(err, store.ErrUnfinished):
		return exitDamaged
	}
	return exitFailed
}

// args accepts from min to max arguments; max < 0: any number.
func args(min, max int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		switch n := len(given); {
		case n < min:
			return wrongUse(cmd, fmt.Errorf("an argument is missing: %s", cmd.UseLine()))
		case max >= 0 && n > max:
			return wrongUse(cmd, fmt.Errorf("unexpected argument %q: %s", given[max], cmd.UseLine()))
		}
		return nil
	}
}

// oneOf sets the text of a flag to one of known, or back to the default, which may be empty.
func oneOf(text *string, known []string) func(string) error {
	usual := *text
	return func(value string) error {
		if value != usual && !slices.Contains(known, value) {
			return fmt.Errorf("must be one of %s", strings.Join(known, ", "))
		}
		*text = value
		return nil
	}
}

func wrongUse(cmd *cobra.Command, err error) error {
	if unread, is := errors.AsType[*strconv.NumError](err); is { // of a flag
		kind := map[bool]string{true: "true or false", false: "a whole number"}[unread.Func == "ParseBool"]
		err = errors.New(strings.Replace(err.Error(), unread.Error(), "it must be "+kind, 1))
	}
	return usageError{err, cmd.CommandPath()}
}

// redactor masks secrets: known ones literally, others by their form. The zero value knows no
// secrets. It is safe for concurrent use.
type redactor struct {
	mu    sync.RWMutex // guards known
	known []string
}

// shortestSecret is the minimum length of a known secret that is masked; shorter ones may be words.
const shortestSecret = 6

// learn adds secrets to mask, also in their URL-encoded forms.
func (r *redactor) learn(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s)} {
			if len(form) >= shortestSecret && !slices.Contains(r.known, form) {
				r.known = append(r.known, form)
			}
		}
	}
}

// credentials matches credentials after the name of a header or parameter.
var credentials = regexp.MustCompile(`(?i)(\bauthorization["']?\s*[:=]\s*[\["']*(?:(?:bearer|basic|bot)\s+)?|\b(?:x-)?api[_-]?key["']?\s*[:=]\s*[\["']*|[?&](?:api_?key|key|token|access_token)=)([^\s"'&<>,;\]]{6,})`)

// schemes matches credentials after the name of an HTTP authentication scheme: what has a digit, a
// sign or mixed case, or is long. "Basic Information" is a page of Slack's.
var schemes = regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)(?:[^\s"'&<>,;\]]*(?:[0-9+/=_]|(?-i:[a-z][A-Z]))[^\s"'&<>,;\]]*|[^\s"'&<>,;\]]{25,})`)

func (r *redactor) mask(text string) string {
	r.mu.RLock()
	for _, secret := range r.known {
		text = strings.ReplaceAll(text, secret, "[masked]")
	}
	r.mu.RUnlock()
	text = credentials.ReplaceAllString(text, "$1[masked]")
	return secrets.Mask(schemes.ReplaceAllString(text, "$1[masked]"))
}

// attr masks an attribute of a log record, or its message, see slog.HandlerOptions.ReplaceAttr.
func (r *redactor) attr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, r.mask(v.String()))
	case slog.KindGroup: // of an incident; the handlers of slog pass what is in it
		var masked []slog.Attr
		for _, one := range v.Group() {
			masked = append(masked, r.attr(nil, one))
		}
		return slog.GroupAttrs(a.Key, masked...)
	case slog.KindAny:
		switch value := v.Any().(type) {
		case slog.Level:
			return a
		case []string:
			masked := make([]string, len(value))
			for i, text := range value {
				masked[i] = r.mask(text)
			}
			return slog.Any(a.Key, masked)
		}
		return slog.String(a.Key, r.mask(fmt.Sprint(v.Any())))
	default: // numbers and times
		return slog.Attr{Key: a.Key, Value: v}
	}
}
