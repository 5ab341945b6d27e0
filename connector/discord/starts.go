// When sessions may start: Discord limits how many do at the same time, and in a day (Discord, Gateway: Max Concurrency; Session
// Start Limit Object).

package discord

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"cairn/connector/platform"
)

// bucket has the shards of which one at a time may start a session. It contains when the next may send IDENTIFY, except while a
// session starts.
type bucket chan time.Time

// newBuckets returns the buckets that Discord's answer allows side by side.
func newBuckets(found gateway) []bucket {
	buckets := make([]bucket, found.concurrency())
	for i := range buckets {
		buckets[i] = make(bucket, 1)
		buckets[i] <- time.Time{}
	}
	return buckets
}

func (s *shards) bucketOf(id int) bucket { return s.buckets[id%len(s.buckets)] }

// take waits for the turn of a shard, which has to put back when the next may send IDENTIFY.
func (b bucket) take(ctx context.Context) (next time.Time, err error) {
	select {
	case next = <-b:
		return next, nil
	case <-ctx.Done():
		return next, ctx.Err()
	}
}

// gateway is what Discord reports about its gateway (Discord, Gateway: Get Gateway Bot).
type gateway struct {
	URL    string
	Shards int         // recommended number of connections
	Start  *startLimit `json:"session_start_limit"`
}

// startLimit limits the sessions of all shards of the bot. Resumed ones do not count.
type startLimit struct {
	Total       int   `json:"total"`
	Remaining   int   `json:"remaining"`
	ResetAfter  int64 `json:"reset_after"` // ms
	Concurrency int   `json:"max_concurrency"`
}

func (g gateway) concurrency() int {
	if g.Start == nil {
		return 1
	}
	return max(1, g.Start.Concurrency)
}

// allowsStart reports whether a session may start. The answer may not count the IDENTIFY that a shard of each other bucket is
// sending at the same time.
func (g gateway) allowsStart() bool { return g.Start == nil || g.Start.Remaining >= g.concurrency() }

func (r *rest) findGateway(ctx context.Context) (found gateway, err error) {
	err = r.do(ctx, call{method: http.MethodGet, path: "/gateway/bot", into: &found})
	if refusalIn(err).status == http.StatusNotFound { // a compatible server may know only the other path
		err = r.do(ctx, call{method: http.MethodGet, path: "/gateway", into: &found})
	}
	return found, err
}

// starts is what is known of the limit of a day.
type starts struct {
	mu      sync.Mutex // guards all
	total   int        // 0: unknown
	left    int
	resetAt time.Time
	waiting int // shards that wait for resetAt
}

// ask asks Discord for its gateway and the limits of session starts.
func (s *shards) ask(ctx context.Context, link *platform.Link) (gateway, error) {
	found, err := s.rest.findGateway(link.AwaitAnswers(ctx, "the answer to GET /gateway/bot"))
	switch {
	case err != nil:
		return found, err
	case found.URL == "":
		return found, errors.New("the server does not say where its gateway is")
	}
	if limit := found.Start; limit != nil {
		s.starts.mu.Lock()
		defer s.starts.mu.Unlock()
		s.starts.total = limit.Total
		s.starts.left = limit.Remaining
		s.starts.resetAt = time.Now().Add(limit.resetAfter())
	}
	return found, nil
}

func (l startLimit) resetAfter() time.Duration { return time.Duration(l.ResetAfter) * time.Millisecond }

// awaitStart waits until another session may start, and returns Discord's answer that allows it. Until endStart, no process starts
// another one in the bucket.
func (s *shard) awaitStart(ctx context.Context) (found gateway, err error) {
	for {
		err = s.fleet.TakeStart(ctx, s.id%len(s.buckets), s.pauses.open+startMargin)
		first := s.answer.Swap(nil)
		switch {
		case err != nil:
		case first != nil:
			found = *first
		default:
			found, err = s.ask(ctx, s.link)
		}
		if err != nil || found.allowsStart() {
			return found, err
		}
		s.endStart(0)
		wait := max(found.Start.resetAfter(), time.Second) // an answer at the moment of the reset may say 0
		s.link.CurrentLog().Warn("session_limit_reached", "wait", wait.Round(time.Second), "until", time.Now().Add(wait).Round(time.Second), "limit", found.Start.Total)
		if err := s.starts.sleep(ctx, wait); err != nil {
			return found, err
		}
	}
}

const (
	startMargin     = 10 * time.Second // for what Discord is asked before a connection
	endStartTimeout = 5 * time.Second
)

// endStart lets a session of the bucket start after a pause. If that cannot be noted, other processes wait longer.
func (s *shard) endStart(pause time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.base.Work.Ctx), endStartTimeout)
	defer cancel()
	err := s.fleet.EndStart(ctx, s.id%len(s.buckets), max(pause, 0))
	if err != nil {
		s.link.CurrentLog().Debug("end_start_failed", "error", err)
	}
}

// sleep waits for the reset.
func (s *starts) sleep(ctx context.Context, wait time.Duration) error {
	s.add(func() { s.waiting++ })
	defer s.add(func() { s.waiting-- })
	return platform.Sleep(ctx, wait)
}

// noteStart counts a session of this process: Discord's next answer may come much later.
func (s *starts) noteStart() { s.add(func() { s.left-- }) }

func (s *starts) add(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}
