// A server that stops sending is detected per read, not by the duration of the whole answer.

package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Silence cancels a request whose server sends nothing for too long.
type Silence struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
	alive  func() // see Request.Alive; nil: this watch applies
}

// WatchSilence returns a context that ends if the server sends nothing for idle. The time runs from
// now until the first read of Body, and during each read. Stop must be called.
func WatchSilence(ctx context.Context, idle time.Duration) (context.Context, *Silence) {
	watched, cancel := context.WithCancelCause(ctx)
	s := &Silence{ctx: watched, cancel: cancel, idle: idle}
	s.timer = time.AfterFunc(idle, func() { cancel(errSilent) })
	return watched, s
}

// Report stops the watch and calls alive with each read instead, if alive is not nil.
func (s *Silence) Report(alive func()) {
	if s.alive = alive; alive != nil {
		s.timer.Stop()
	}
}

// Stop releases the watch.
func (s *Silence) Stop() {
	s.timer.Stop()
	s.cancel(nil)
}

// Body returns body with the watch around each read. The reader of the answer may pause between
// reads.
func (s *Silence) Body(body io.ReadCloser) io.ReadCloser { return &watchedBody{body, s} }

// Drain reads the rest of a body whose answer is complete, if it arrives at once: otherwise the
// connection could not be reused.
func (s *Silence) Drain(body io.ReadCloser) {
	const most, soon = 4 << 10, 50 * time.Millisecond
	s.idle, s.alive = min(s.idle, soon), nil
	_, _ = io.Copy(io.Discard, io.LimitReader(body, most)) // on an error the connection is merely not reused
}

// Translate returns the error of a silent server if silence caused err, else err.
func (s *Silence) Translate(err error) error {
	if err != nil && errors.Is(context.Cause(s.ctx), errSilent) {
		return &Error{Kind: KindUnreachable, Message: fmt.Sprintf("nothing came for %v", s.idle), Err: errSilent}
	}
	return err
}

type watchedBody struct {
	io.ReadCloser
	silence *Silence
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if alive := b.silence.alive; alive != nil {
		n, err := b.ReadCloser.Read(p)
		if n > 0 {
			alive()
		}
		return n, err
	}
	b.silence.timer.Reset(b.silence.idle)
	defer b.silence.timer.Stop()
	return b.ReadCloser.Read(p)
}

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
