// Command cairn is a chat bot whose conversations never end.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := untilSignal()
	defer stop()
	os.Exit(execute(ctx, &app{in: os.Stdin, out: os.Stdout, err: os.Stderr}, os.Args[1:]))
}

// execute runs the command in args and returns the exit code.
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
		fmt.Fprintln(a.err, "cairn:", a.secrets.mask(err.Error()))
	}
	return exitCode(err)
}

// signalled is the cause of a context that was canceled by a signal.
type signalled struct{ signal syscall.Signal }

func (s signalled) Error() string { return "stopped by a signal: " + s.signal.String() }

// untilSignal returns a context that the first SIGINT or SIGTERM cancels. A second one ends the
// program immediately, as without a handler.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signal.Ignore(syscall.SIGXFSZ) // at a file size limit the write then fails with an error that can be explained
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		s, ok := <-signals
		if !ok {
			return
		}
		signal.Stop(signals)
		cancel(signalled{s.(syscall.Signal)})
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}
