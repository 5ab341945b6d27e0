// Rechecks: a platform may lose an event, and a socket may answer each PING and deliver nothing. So the places that were active in the
// last hour are compared with the platform's history when nothing has arrived for some minutes, and after a resumed session.

package platform

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"cairn/channel"
)

const (
	quietTime    = 5 * time.Minute // without an event, before a recheck
	recheckDelay = time.Minute     // before each recheck, so that the events of a resumed session have been handled
	activeTime   = time.Hour       // since the newest message of a place that is rechecked
	maxRechecked = 20              // places of one recheck: each costs a request
	clockMargin  = 5 * time.Second // by which the platform's clock may differ from what Clock knows of it
)

// ErrDeaf is why a connection ends that delivers nothing.
var ErrDeaf = errors.New("the connection delivers no events")

// recheck says when to recheck. The zero value never does.
type recheck struct {
	quiet     time.Duration // see quietTime
	delay     time.Duration // see recheckDelay
	event     chan struct{} // has a value if an event has arrived
	requested chan struct{} // has a value if Recheck was called

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
	renewPause    = 5 * time.Minute // until the next end of a connection that delivers nothing
	maxRenewPause = 6 * time.Hour
)

func newRecheck() recheck {
	return recheck{
		quiet: quietTime, delay: recheckDelay, event: make(chan struct{}, 1), requested: make(chan struct{}, 1),
		renew: deafness{pause: Backoff{First: renewPause, Max: maxRenewPause}},
	}
}

// NoteEvent reports that an event has arrived.
func (l *Link) NoteEvent() {
	now := time.Now()
	l.recheck.last.Store(&now)
	signal(l.recheck.event)
}

// Missed ends a connection that is proven deaf: a message was written while it was established and, though no event has arrived
// since then and it would be late by now, was found in the history alone.
func (b *Base) Missed(conversation string, newest time.Time) {
	l := b.linkOf(conversation)
	if l == nil || !l.Connected() {
		return
	}
	since := l.since.Load() // when it became connected
	quietSince := *since
	if last := l.recheck.last.Load(); last != nil && last.After(quietSince) {
		quietSince = *last
	}
	margin := min(clockMargin, l.recheck.delay)
	late := b.Clock.Now().Sub(newest) >= l.recheck.delay
	if !late || newest.Sub(b.Clock.At(quietSince)) <= margin || !l.recheck.renew.take() {
		return
	}
	l.CurrentLog().Warn("connection_deaf", "conversation", conversation, "quiet", time.Since(quietSince).Round(time.Second), "effect", "a new connection")
	l.End(ErrDeaf)
}

// take reports whether a connection may be ended, and has the next one wait.
func (d *deafness) take() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if now.Before(d.next) {
		return false
	}
	if now.Sub(d.next) > 2*d.pause.Max {
		d.pause.Reset()
	}
	pause := d.pause.Next()
	d.next = now.Add(max(d.pause.First, pause))
	return true
}

// Recheck has the places that were active in the last hour look for what they missed, in a minute.
func (l *Link) Recheck() { signal(l.recheck.requested) }

// RecheckAfter sets how long nothing arrives before a recheck, and how long each waits. Tests set shorter times.
func (b *Base) RecheckAfter(quiet, delay time.Duration) {
	b.Link.recheck.quiet = quiet
	b.Link.recheck.delay = delay
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it has a value already
	}
}

// keepRechecking rechecks the places of a link whenever it is time, until ctx ends.
func (b *Base) keepRechecking(ctx context.Context, l *Link) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-l.recheck.event:
			continue
		case <-l.recheck.requested:
		case <-time.After(l.recheck.quiet):
			b.renewQuiet(l)
		}
		if Sleep(ctx, l.recheck.delay) == nil && l.Connected() {
			b.recheckActive(ctx, l)
		}
	}
}

// renewQuiet ends a connection on which nothing arrives, beside those of other processes: what is missing does not prove which of them is
// deaf, and a new one costs little.
func (b *Base) renewQuiet(l *Link) {
	if b.Beside != nil && b.Beside() && l.Connected() && l.recheck.renew.take() {
		l.CurrentLog().Debug("connection_renewed")
		l.End(ErrDeaf)
	}
}

func (b *Base) recheckActive(ctx context.Context, l *Link) {
	since := b.Clock.Now().Add(-activeTime)
	var active []channel.Gap
	b.Store(ctx, func() (err error) {
		active, err = channel.GapsToRecheck(ctx, b.Hub, b.name, l.Covers, maxRechecked, func(newest, first string) string { return b.MissedAfter(newest, first, since) })
		return err
	})
	for _, place := range active {
		b.Store(ctx, func() error { return b.Hub.CatchUp(ctx, place.Conversation, place.After) })
	}
}
