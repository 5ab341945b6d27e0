// One socket after the other.

package slack

import (
	"context"
	"errors"
	"time"

	"cairn/internal/platform"
)

// supervise keeps a socket open until ctx is done or an error that only a person can fix.
// slack-go's client would reconnect by itself, at once; so each socket gets a client of its own,
// and this loop alone decides when to reconnect.
func (s *Slack) supervise(ctx context.Context) error {
	down := platform.Incident{Log: s.log, Failed: "connection_failed", Recovered: "connection_recovered", Reason: codeOf}
	silence := s.times.silence
	pause := s.newBackoff()
	for {
		begun := time.Now()
		socket := s.newSocket(silence)
		err := socket.run(ctx, down.End)
		s.socketed.Store(false)
		var broken setupError
		if errors.As(err, &broken) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if socket.helloReceived.Load() {
			s.lastRead = socket.lastHeard()
		}
		silence = socket.patience(silence, s.times.silence)
		if socket.helloReceived.Load() && time.Since(begun) >= s.times.steady {
			s.log.Debug("connection_lost", "error", err)
			pause.Reset()
			continue
		}
		if !socket.helloReceived.Load() || pause.Grown() { // a socket may be lost once
			down.Begin(err)
		}
		if err := sleepAfter(ctx, err, pause.Next()); err != nil {
			return err
		}
	}
}
