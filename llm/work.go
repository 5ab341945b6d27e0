package llm

import (
	"context"
	"fmt"
	"time"
)

// ErrWorkSilent and ErrWorkLate are the causes of a context of WatchWork that ended; both are
// deadlines.
var (
	ErrWorkSilent = fmt.Errorf("the model sent nothing for too long: %w", context.DeadlineExceeded)
	ErrWorkLate   = fmt.Errorf("the model took too long: %w", context.DeadlineExceeded)
)

// WatchWork returns a context that ends if alive is not called for idle, with the cause
// ErrWorkSilent, or after longest, with ErrWorkLate. It is for work of several requests, whose
// Request.Alive is alive. stop must be called.
func WatchWork(ctx context.Context, idle, longest time.Duration) (_ context.Context, alive, stop func()) {
	ctx, late := context.WithTimeoutCause(ctx, longest, ErrWorkLate)
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(idle, func() { cancel(ErrWorkSilent) })
	return ctx, func() { timer.Reset(idle) }, func() {
		timer.Stop()
		cancel(nil)
		late()
	}
}
