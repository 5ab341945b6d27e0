// The watchdog of a stream: it ends the reading of an answer that begins and does not go on.

package provider

import (
	"context"
	"sync/atomic"
	"time"

	"cairn/llm"
)

// watchdog runs from the first text or tool call of an answer on. Comments and empty events do not count. Some servers
// send the arguments of a call in one piece, and models reason after text, too: both may take as long as the first text.
type watchdog struct {
	idle     time.Duration // how long the next text may take; 0: there is no watchdog
	patience time.Duration // the same while the model writes a call, or reasons

	timer   *time.Timer
	stalled atomic.Bool
	wrote   time.Time // when the last text or piece of a call arrived; zero: none yet
}

// start returns a context that ends once the answer stalls. stop must be called.
func (w *watchdog) start(ctx context.Context, idle, patience time.Duration) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	w.idle = idle
	w.patience = max(idle, patience)
	w.timer = time.AfterFunc(time.Hour, func() {
		w.stalled.Store(true)
		cancel()
	})
	w.timer.Stop()
	return ctx, func() {
		w.timer.Stop()
		cancel()
	}
}

// sawText, sawCall and sawReasoning record what arrives.
func (w *watchdog) sawText() { w.wait(true, w.idle) }
func (w *watchdog) sawCall() { w.wait(true, w.patience) }

func (w *watchdog) sawReasoning() {
	if !w.wrote.IsZero() {
		w.wait(false, w.patience)
	}
}

// wait sets how long after the last text or call the next one may come.
func (w *watchdog) wait(wrote bool, longest time.Duration) {
	if wrote {
		w.wrote = time.Now()
	}
	if w.timer != nil {
		w.timer.Reset(time.Until(w.wrote.Add(longest)))
	}
}

// explain returns the error of a stalled answer in place of the one that its end caused; ctx is the caller's.
func (w *watchdog) explain(ctx context.Context, err error) error {
	silent := context.Cause(ctx) == llm.ErrSilent && !w.wrote.IsZero() // its patience ended first
	if err != nil && (silent || w.stalled.Load()) {
		return llm.Truncated(llm.ErrStalled)
	}
	return err
}
