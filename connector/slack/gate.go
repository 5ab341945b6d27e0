// Rate limits of the Web API: each method that the bot also calls in the background, or to show a reply while it is written, has a
// gate. It lets no more requests through than Slack documents, keeps half of them for requests that a person waits for, lets those through
// first and in order, and obeys a 429.

package slack

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"
)

// tier is the limit of a method.
type tier struct {
	limit      int  // requests per minute that Slack allows at least
	background int  // those of them that nobody waits for
	spread     bool // the second half of the latter is spread over the minute
	local      bool // a refusal concerns one channel, so others may go on
}

// tiers are from the Facts of each method's page: tier 2 (20 and more), 3 (50 and more) or 4 (100 and more). In a text that
// grows people see a pause, so its requests are spread; of a stream it is the only one to start and grow it, and who stops it
// waits. chat.postMessage has a special tier: several hundred messages a minute, with one a second in a channel, of which
// Slack allows bursts.
var tiers = map[string]tier{
	"agents.sessions.rename":                {limit: 50, background: 50},
	"agents.sessions.setStatus":             {limit: 50, background: 25},
	"assistant.threads.setSuggestedPrompts": {limit: 100, background: 100},
	"chat.appendStream":                     {limit: 100, background: 100, spread: true},
	"chat.startStream":                      {limit: 20, background: 20},
	"chat.postMessage":                      {limit: 200, background: 100, local: true},
	"chat.stopStream":                       {limit: 20, background: 10},
	"chat.update":                           {limit: 50, background: 25, spread: true},
	"conversations.history":                 {limit: 50, background: 25},
	"conversations.info":                    {limit: 50, background: 25},
	"conversations.replies":                 {limit: 50, background: 25},
	"files.info":                            {limit: 100, background: 50},
	"reactions.add":                         {limit: 50, background: 25},
	"reactions.remove":                      {limit: 20, background: 20},
	"users.conversations":                   {limit: 50, background: 25},
	"users.info":                            {limit: 100, background: 50},
	"users.list":                            {limit: 20, background: 10},
	"views.publish":                         {limit: 100, background: 50},
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
	t, limited := tiers[method]
	if !limited {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = make(map[string]*gate)
	}
	if g.all[method] == nil {
		g.all[method] = &gate{tier: t, window: g.window}
	}
	return g.all[method]
}

// gate counts the requests of one method.
type gate struct {
	tier                 // its minute is the window
	window time.Duration // see gateWindow

	mu        sync.Mutex  // guards everything below
	sent      []time.Time // requests within the window, oldest first
	unawaited []time.Time // those of them that nobody waited for
	closed    time.Time   // until then Slack refuses requests
	line      []int       // the tickets of those who wait, not in the background, longest first
	last      int         // ticket
	kept      int         // requests that drafts need when they are finished
}

// draw returns a ticket for take.
func (g *gate) draw() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last++
	return g.last
}

// take lets a request through and returns 0, or returns after which time to try again. Until it is let through, or leave is called, a
// ticket keeps its place in the line; 0: the request does not wait.
func (g *gate) take(ticket int, inBackground bool) (wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	before := slices.Index(g.line, ticket) // how many go first
	if before < 0 {
		before = len(g.line)
		if ticket > 0 && !inBackground {
			g.line = append(g.line, ticket)
		}
	}
	g.sent = g.recent(g.sent, now)
	g.unawaited = g.recent(g.unawaited, now)
	if inBackground {
		before += g.kept
	}
	opens := g.after(before, now)
	if inBackground && !g.closed.IsZero() {
		opens = later(opens, g.closed.Add(yieldTime))
	}
	if inBackground {
		opens = later(opens, g.due())
	}
	wait = opens.Sub(now)
	if wait > 0 {
		return wait
	}
	g.remove(ticket)
	g.sent = append(g.sent, now)
	if inBackground {
		g.unawaited = append(g.unawaited, now)
	}
	return 0
}

// after returns when a request may be made if others go first.
func (g *gate) after(others int, now time.Time) time.Time {
	over := len(g.sent) + others - g.limit
	switch {
	case over >= len(g.sent):
		return later(g.closed, now.Add(g.window))
	case over >= 0:
		return later(g.closed, g.sent[over].Add(g.window))
	}
	return g.closed
}

// keep keeps a request until done is called, in which the gate then lets it through; wait: there is none to keep for that long, or until
// another one is done.
func (g *gate) keep() (done func(), wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.sent = g.recent(g.sent, now)
	wait = g.after(len(g.line)+g.kept, now).Sub(now)
	if wait > 0 {
		return nil, wait
	}
	g.kept++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.kept--
	}, 0
}

// leave gives up a place in the line.
func (g *gate) leave(ticket int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.remove(ticket)
}

func (g *gate) remove(ticket int) {
	g.line = slices.DeleteFunc(g.line, func(one int) bool { return one == ticket })
}

// due returns when the background may make its next request; zero: now.
func (g *gate) due() (at time.Time) {
	used := len(g.unawaited)
	switch {
	case used >= g.background:
		return g.unawaited[0].Add(g.window)
	case g.spread && 2*used >= g.background:
		last := g.unawaited[used-1]
		left := g.unawaited[0].Add(g.window).Sub(last)
		return last.Add(left / time.Duration(g.background-used+1))
	}
	return at
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
	ticket := g.draw()
	defer g.leave(ticket)
	for {
		wait := g.take(ticket, inBackground)
		if wait <= 0 {
			return nil
		}
		timer := time.NewTimer(min(wait, time.Second)) // others may leave the line
		select {
		case <-timer.C:
		case <-awaited:
			awaited = nil
			inBackground = false
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
		if wait := gate.take(0, isBackground(r.Context())); wait > 0 {
			return nil, &slackgo.RateLimitedError{RetryAfter: wait}
		}
	} else if err := gate.wait(r.Context()); err != nil {
		return nil, err
	}
	resp, err := c.Client.Do(r)
	if err == nil && resp.StatusCode == http.StatusTooManyRequests && !gate.local {
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
