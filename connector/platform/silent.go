// A platform that accepts a connection and then does not answer: each step of connecting may take a while, and then it is worth a
// line in the log, long before the attempt ends.

package platform

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"
)

// patience is how long a platform may take for each step of a connection before the log warns.
const patience = 10 * time.Second

// silence is what is known about a platform that does not answer.
type silence struct {
	mu       sync.Mutex // guards all
	waitsFor string     // what the connection waits for now; "": nothing
	timer    *time.Timer
	missed   string // what did not come in time, until an attempt ends otherwise; "": nothing
	again    bool   // it did not come in the present attempt
}

// Await reports what the connection waits for from now on, such as "READY"; "": nothing, e.g. during a pause. If it does not come
// within l.Patience that is an incident. Only connect may call it, see Keep.
func (l *Link) Await(what string) {
	s := &l.silence
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waitsFor = what
	if s.timer != nil {
		s.timer.Stop()
	}
	if what == "" {
		return
	}
	limit := l.Patience
	if limit == 0 {
		limit = patience
	}
	s.timer = time.AfterFunc(limit, func() { l.late(what, limit) })
}

// AwaitAnswers returns a context for requests: the connection waits for the answer to each of them, see Await.
func (l *Link) AwaitAnswers(ctx context.Context, what string) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:              func(string) { l.Await(what) },
		GotFirstResponseByte: func() { l.Await("") },
	})
}

// late records that what was awaited has not come in time.
func (l *Link) late(what string, limit time.Duration) {
	s := &l.silence
	s.mu.Lock()
	if s.waitsFor != what { // it came at this moment
		s.mu.Unlock()
		return
	}
	s.missed = what
	s.again = true
	s.mu.Unlock()
	level := l.begin(silentPlatform)
	l.CurrentLog().Log(context.Background(), level, "connection_silent", "waits_for", what, "after", limit.String(), "hint", l.Hint)
}

// Problem says why there is no connection, if that is because the platform does not answer; else it is empty.
func (l *Link) Problem() string {
	s := &l.silence
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.missed == "" {
		return ""
	}
	return "waiting for " + s.missed + ": " + l.Hint
}

// attemptEnded reports whether the platform was silent in the attempt that has ended.
func (l *Link) attemptEnded() (silent bool) {
	l.Await("")
	s := &l.silence
	s.mu.Lock()
	defer s.mu.Unlock()
	silent = s.again
	s.again = false
	if !silent {
		s.missed = ""
	}
	return silent
}

// answered records that the connection is established.
func (l *Link) answered() {
	l.Await("")
	s := &l.silence
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missed = ""
	s.again = false
}
