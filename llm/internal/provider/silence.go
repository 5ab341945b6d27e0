// A server that stops sending is detected per read, not by the duration of the whole answer.

package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"cairn/llm"
)

// silence cancels a request whose server sends nothing for too long.
type silence struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
	alive  func() // see llm.Request.Alive; nil: this watch applies
}

// watchSilence returns a context that ends if the server sends nothing for idle. The time runs from
// now until the first read of body, and during each read. With alive it does not end; each read calls
// alive instead. release must be called.
func watchSilence(ctx context.Context, idle time.Duration, alive func()) (context.Context, *silence) {
	watched, cancel := context.WithCancelCause(ctx)
	s := &silence{ctx: watched, cancel: cancel, idle: idle, alive: alive}
	s.timer = time.AfterFunc(idle, func() { cancel(llm.ErrSilent) })
	if alive != nil {
		s.timer.Stop()
	}
	return watched, s
}

// release releases the watch.
func (s *silence) release() {
	s.timer.Stop()
	s.cancel(nil)
}

// body returns body with the watch around each read. The reader of the answer may pause between
// reads.
func (s *silence) body(body io.ReadCloser) io.ReadCloser { return &watchedBody{body, s} }

// drain reads the rest of a body whose answer is complete, if it arrives immediately: otherwise the
// connection could not be reused.
func (s *silence) drain(body io.ReadCloser) {
	const most, soon = 4 << 10, 50 * time.Millisecond
	s.idle, s.alive = min(s.idle, soon), nil
	_, _ = io.Copy(io.Discard, io.LimitReader(body, most)) // on an error the connection is merely not reused
}

// translate returns the error of a silent server if silence caused err, else err.
func (s *silence) translate(err error) error {
	if err != nil && errors.Is(context.Cause(s.ctx), llm.ErrSilent) {
		return &llm.Error{Kind: llm.KindUnreachable, Message: fmt.Sprintf("nothing came for %v", s.idle), Err: llm.ErrSilent}
	}
	return err
}

type watchedBody struct {
	io.ReadCloser
	silence *silence
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
