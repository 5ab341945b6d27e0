package platform

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
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
	clockMargin  = 5 * time.Second // by which the platform's clock may differ from what Clock knows of it
)

// ErrDeaf is why a connection ends that delivers nothing.
var ErrDeaf = errors.New("the connection delivers no events")

// secondLook says when to look again. The zero value never does.
type secondLook struct {
	quiet time.Duration
	again time.Duration
	heard chan struct{} // holds a value if an event has arrived
	wish  chan struct{} // holds a value if LookAgain was called

	last  atomic.Pointer[time.Time] // when an event arrived last; nil: none has
	renew deafness
}

// deafness says when a connection may end because it delivers nothing. The history may also have messages for which the platform
// never sends an event, whatever the connection, so the pauses between two such ends grow.
type deafness struct {
	mu    sync.Mutex // guards the fields below
	pause Backoff
	next  time.Time // when a connection may be ended again
}

const (
	renewAgain     = 5 * time.Minute // until the next end of a connection that delivers nothing
	mostRenewAgain = 6 * time.Hour
)

func newSecondLook() secondLook {
	return secondLook{
		quiet: quietAfter, again: againAfter, heard: make(chan struct{}, 1), wish: make(chan struct{}, 1),
		renew: deafness{pause: Backoff{First: renewAgain, Most: mostRenewAgain}},
	}
}

// Heard reports that an event has arrived.
func (b *Base) Heard() {
	now := time.Now()
	b.looks.last.Store(&now)
	signal(b.looks.heard)
}

// Missed ends a connection that is proven deaf: a message was written while it was established and, though no event has arrived
// since then and it would be late by now, was found in the history alone.
func (b *Base) Missed(conversation string, newest time.Time) {
	since := b.Link.since.Load()
	if !b.Connected() || since == nil {
		return
	}
	quietSince := *since
	if last := b.looks.last.Load(); last != nil && last.After(quietSince) {
		quietSince = *last
	}
	margin := min(clockMargin, b.looks.again)
	late := b.Clock.Now().Sub(newest) >= b.looks.again
	if !late || newest.Sub(b.Clock.At(quietSince)) <= margin || !b.looks.renew.take() {
		return
	}
	b.Log.Warn("connection_deaf", "conversation", conversation, "quiet", time.Since(quietSince).Round(time.Second), "effect", "a new connection")
	b.Link.End(ErrDeaf)
}

// take reports whether a connection may be ended, and has the next one wait.
func (d *deafness) take() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if now.Before(d.next) {
		return false
	}
	if now.Sub(d.next) > 2*d.pause.Most {
		d.pause.Reset()
	}
	pause := d.pause.Next()
	d.next = now.Add(max(d.pause.First, pause))
	return true
}

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
