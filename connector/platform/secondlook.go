package platform

import (
	"context"
	"time"

	"cairn/channel"
)

// A platform may lose an event, and a socket may answer each PING and deliver nothing. So the places that were active lately are
// compared with the platform's history when nothing has arrived for some minutes, and after a resumed session.

const (
	quietAfter   = 5 * time.Minute // without an event, until a second look
	againAfter   = time.Minute     // until a second look that a connector asks for, when its events have been handled; and between two
	activeLately = time.Hour       // since the newest message of a place that is looked at
	maxLooks     = 20              // places of one second look: each costs a request
)

// secondLook says when to look again. The zero value never does.
type secondLook struct {
	quiet time.Duration
	again time.Duration
	heard chan struct{} // holds a value if an event has arrived
	wish  chan struct{} // holds a value if LookAgain was called
}

func newSecondLook() secondLook {
	return secondLook{quiet: quietAfter, again: againAfter, heard: make(chan struct{}, 1), wish: make(chan struct{}, 1)}
}

// Heard reports that an event has arrived.
func (b *Base) Heard() { signal(b.looks.heard) }

// LookAgain has the places that were active lately look for what they missed, in a minute.
func (b *Base) LookAgain() { signal(b.looks.wish) }

// LookAfter sets how long nothing arrives before a second look, and how long LookAgain waits. Tests set shorter times.
func (b *Base) LookAfter(quiet, again time.Duration) {
	b.looks.quiet = quiet
	b.looks.again = again
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it holds a value already
	}
}

// keepLooking looks again whenever it is time, until ctx ends.
func (b *Base) keepLooking(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-b.looks.heard:
			continue
		case <-b.looks.wish:
		case <-time.After(b.looks.quiet):
		}
		if Sleep(ctx, b.looks.again) == nil && b.Connected() {
			b.lookAgain(ctx)
		}
	}
}

func (b *Base) lookAgain(ctx context.Context) {
	since := b.Clock.Now().Add(-activeLately)
	var active []channel.Gap
	b.Store(ctx, func() (err error) {
		active, err = channel.Lately(ctx, b.Hub, b.name, maxLooks, func(newest, first string) string { return b.MissedAfter(newest, first, since) })
		return err
	})
	for _, place := range active {
		b.Store(ctx, func() error { return b.Hub.CatchUp(ctx, place.Conversation, place.After) })
	}
}
