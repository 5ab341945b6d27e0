// One socket after the other.

package slack

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"cairn/internal/platform"
)

// supervise keeps a socket open until ctx is done or something is wrong that only a
// person can mend. slack-go's client would connect again by itself, at once and
// unseen; so each socket gets a client of its own, and this loop alone decides when
// there is another.
func (s *Slack) supervise(ctx context.Context) error {
	down := platform.Incident{Log: s.log, Failed: "connection_failed", Recovered: "connection_recovered", Reason: codeOf}
	silence := s.times.silence
	delay := s.times.backoff
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
			delay = s.times.backoff
			continue
		}
		if !socket.helloReceived.Load() || delay > s.times.backoff { // a socket may be lost once
			down.Begin(err)
		}
		wait := delay/2 + rand.N(delay/2+1)
		if asked, limited := rateLimit(err); limited {
			wait = max(wait, asked)
		}
		if err := platform.Sleep(ctx, wait); err != nil {
			return err
		}
		delay = min(2*delay, time.Minute)
	}
}
