package channel

import (
	"context"
	"log/slog"
	"sync"
)

// stuck is what keeps conversations from going on, as a disk that takes nothing. The
// log is told of each cause once, however many conversations it keeps and however often
// they try again, and once when all go on.
type stuck struct {
	mu    sync.Mutex        // guards stuck
	stuck map[string]string // the cause, by conversation
}

func (t *stuck) is(ctx context.Context, log *slog.Logger, conversation string, err error) {
	because := causeOf(err)
	t.mu.Lock()
	known := false
	for _, other := range t.stuck {
		known = known || other == because
	}
	if t.stuck == nil {
		t.stuck = make(map[string]string)
	}
	t.stuck[conversation] = because
	t.mu.Unlock()
	level := slog.LevelWarn
	if known {
		level = slog.LevelDebug
	}
	log.Log(ctx, level, "conversation_stalled", "error", err)
}

func (t *stuck) over(log *slog.Logger, conversation string) {
	t.mu.Lock()
	_, was := t.stuck[conversation]
	delete(t.stuck, conversation)
	left := len(t.stuck)
	t.mu.Unlock()
	if was && left == 0 {
		log.Info("conversations_recovered")
	}
}

// left is how many conversations are kept.
func (t *stuck) left() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.stuck)
}

// causeOf is what lies at the bottom of an error, in its own words: without names of
// conversations, which stand above it.
func causeOf(err error) string {
	for {
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if below := e.Unwrap(); below != nil {
				err = below
				continue
			}
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 0 {
				err = all[len(all)-1]
				continue
			}
		}
		return err.Error()
	}
}
