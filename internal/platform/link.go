// Connections: one after another, until an error that only a person can fix.

package platform

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// SetupError is an error that only a person can fix; its text says how.
type SetupError string

func (e SetupError) Error() string { return string(e) }

// Link keeps a connector connected.
type Link struct {
	Incident
	Pause  Backoff                                            // before the next connection
	Wait   func(pause time.Duration, err error) time.Duration // adjusts the pause after an error; nil: it does not
	Steady time.Duration                                      // a connection that lasts this long works: the next one follows without a pause

	connected atomic.Bool
	steady    *time.Timer // ends the incident; nil: the latest connection is not established
}

// Connected reports whether the latest connection is established.
func (l *Link) Connected() bool { return l.connected.Load() }

// Established reports that the latest connection is established. Only connect may call it, see Keep.
func (l *Link) Established() {
	if l.steady == nil {
		l.steady = time.AfterFunc(l.Steady, l.End)
	}
	l.connected.Store(true)
}

// Keep calls connect, which returns when a connection has ended, again and again until ctx ends. It
// returns only a SetupError.
func (l *Link) Keep(ctx context.Context, connect func(ctx context.Context) error) error {
	for ctx.Err() == nil {
		err := connect(ctx)
		established := l.steady != nil
		steady := established && !l.steady.Stop()
		l.steady = nil
		l.connected.Store(false)
		if setup, ok := errors.AsType[SetupError](err); ok {
			return setup
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case steady:
			l.Pause.Reset()
		case !established || l.Pause.Grown(): // a single lost connection is normal
			l.Begin(err)
		}
		l.Log.Debug("connection_lost", "error", err)
		if steady {
			continue
		}
		pause := l.Pause.Next()
		if l.Wait != nil {
			pause = l.Wait(pause, err)
		}
		_ = Sleep(ctx, pause) // its error ends the loop
	}
	return nil
}
