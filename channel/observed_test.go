package channel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/observe"
	"cairn/llm"
)

// stepLog records how steps end, and what happens in them.
type stepLog struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (w *stepLog) Begin(ctx context.Context, _ *observe.Step) context.Context { return ctx }

func (w *stepLog) Event(s *observe.Step, name string, attrs []slog.Attr) {
	w.note(fmt.Sprintf("%s in %s of %s: %s", name, s.Kind, s.Conversation, attrs[0]))
}

func (w *stepLog) End(s *observe.Step) {
	if s.Kind == observe.Turn {
		line := "turn " + s.Attr("outcome")
		if s.Err != nil {
			line += ": " + channel.FailureClass(s.Err)
		}
		w.note(line)
	}
}

func (w *stepLog) note(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line)
}

// A model server that refuses everyone is one incident, a failure in this conversation alone is
// another: each gets one warning.
func TestTurnsAreObserved(t *testing.T) {
	var w stepLog
	var failure error
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if failure != nil {
			return llm.Response{}, failure
		}
		return echo(ctx, n, req)
	})
	r.opts.Observer = &w
	log := r.captureLog()
	for _, failure = range []error{nil, &llm.Error{Kind: llm.KindAuth}, &llm.Error{Kind: llm.KindAuth}, llm.ErrTooManyCalls, errors.New("boom")} {
		r.ask("hello")
	}
	r.run("/pause")
	r.ask("hello")
	check.EqualAll(t, "turns", w.lines, []string{"turn answered", "turn failed: auth", "turn failed: auth", "turn failed: no_answer", "turn failed: other", "turn passed"})
	check.Equal(t, "warnings", log.lines(slog.LevelWarn, "turn_failed"), 2)
	check.Equal(t, "other lines", log.lines(slog.LevelInfo, "turn_failed"), 2)
}

func TestEveryErrorHasAClass(t *testing.T) {
	known := channel.FailureClasses()
	for _, err := range []error{errors.New("x"), compactor.ErrSpent, compactor.ErrTooLarge, llm.ErrTooManyCalls, llm.ErrTooLong, context.Canceled} {
		class := channel.FailureClass(err)
		check.That(t, slices.Contains(known, class), "%v: got class %q", err, class)
	}
	for _, kind := range llm.Kinds {
		class := channel.FailureClass(fmt.Errorf("wrapped: %w", &llm.Error{Kind: kind}))
		check.That(t, class != "other" && slices.Contains(known, class), "%q: got class %q", kind, class)
	}
}
