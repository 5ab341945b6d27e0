// Rate limits of the Web API: each method that the bot also calls in the background has a gate. It lets no more requests
// through than Slack documents, keeps half of them for requests that a person waits for, and obeys a 429.

package slack

import (
	"context"
	"net/http"
	"path"
	"strconv"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"
)

// tiers are the requests per minute that Slack allows at least, from the Facts of each method's page.
var tiers = map[string]int{
	"conversations.history": 50,
	"conversations.info":    50,
	"conversations.replies": 50,
	"users.conversations":   50,
	"users.info":            100,
	"users.list":            20,
}

const (
	gateWindow = 61 * time.Second // a minute, and a second for requests that take longer to arrive than later ones
	yieldTime  = time.Second      // how long background requests wait longer than others after a 429
)

// gates are the gates of all methods.
type gates struct {
	window time.Duration
	mu     sync.Mutex // guards all
	all    map[string]*gate
}

// of returns the gate of a method; nil if it has none.
func (g *gates) of(method string) *gate {
	limit, limited := tiers[method]
	if !limited {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = make(map[string]*gate)
	}
	if g.all[method] == nil {
		g.all[method] = &gate{limit: limit, window: g.window}
	}
	return g.all[method]
}

// gate counts the requests of one method.
type gate struct {
	limit  int           // requests per window
	window time.Duration // see gateWindow

	mu         sync.Mutex  // guards everything below
	sent       []time.Time // requests within the window, oldest first
	background []time.Time // those of them that nobody waited for
	closed     time.Time   // until then Slack refuses requests
}

// take lets a request through and returns 0, or returns after which time to try again.
func (g *gate) take(inBackground bool) (wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.sent, g.background = g.recent(g.sent, now), g.recent(g.background, now)
	opens := g.closed
	if inBackground && !opens.IsZero() {
		opens = opens.Add(yieldTime)
	}
	if len(g.sent) >= g.limit {
		opens = later(opens, g.sent[0].Add(g.window))
	}
	if inBackground && len(g.background) >= g.limit/2 {
		opens = later(opens, g.background[0].Add(g.window))
	}
	wait = opens.Sub(now)
	if wait > 0 {
		return wait
	}
	g.sent = append(g.sent, now)
	if inBackground {
		g.background = append(g.background, now)
	}
	return 0
}

// recent returns the requests that are still within the window.
func (g *gate) recent(requests []time.Time, now time.Time) []time.Time {
	for len(requests) > 0 && now.Sub(requests[0]) >= g.window {
		requests = requests[1:]
	}
	return requests
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// closeFor closes the gate after a 429.
func (g *gate) closeFor(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = later(g.closed, time.Now().Add(d))
}

// wait waits until a request may be made.
func (g *gate) wait(ctx context.Context) error {
	awaited, inBackground := ctx.Value(backgroundKey{}).(<-chan struct{})
	for {
		wait := g.take(inBackground)
		if wait <= 0 {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-awaited:
			awaited, inBackground = nil, false
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

type backgroundKey struct{}

// background returns a context for requests that nobody waits for, until awaited is closed; nil: ever.
func background(ctx context.Context, awaited <-chan struct{}) context.Context {
	return context.WithValue(ctx, backgroundKey{}, awaited)
}

// isBackground reports whether nobody waits for the requests of a context.
func isBackground(ctx context.Context) bool {
	awaited, background := ctx.Value(backgroundKey{}).(<-chan struct{})
	select {
	case <-awaited:
		return false
	default:
		return background
	}
}

// gatedClient makes requests through the gates.
type gatedClient struct {
	*http.Client
	gates     *gates
	impatient bool // a request that would have to wait fails with a slackgo.RateLimitedError
}

func (c gatedClient) Do(r *http.Request) (*http.Response, error) {
	gate := c.gates.of(path.Base(r.URL.Path))
	if gate == nil {
		return c.Client.Do(r)
	}
	if c.impatient {
		if wait := gate.take(isBackground(r.Context())); wait > 0 {
			return nil, &slackgo.RateLimitedError{RetryAfter: wait}
		}
	} else if err := gate.wait(r.Context()); err != nil {
		return nil, err
	}
	resp, err := c.Client.Do(r)
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		gate.closeFor(retryAfter(resp.Header))
	}
	return resp, err
}

// retryAfter returns how long Slack asks to wait.
func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return defaultRateLimitWait
	}
	return time.Duration(seconds) * time.Second
}
