// The rate limits of the REST API: requests are delayed before Discord refuses them.

package discord

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	perSecond           = 40 // requests on all routes together; with a burst, at most the 50 that Discord allows in a second (Rate Limits: Global Rate Limit)
	burst               = 10 // requests without a pause
	backgroundPerSecond = 25 // requests in the background, so that there is room for others
	invalidCost         = 4  // requests for which an invalid one counts, so that the 10 000 that ban the IP address are out of reach
)

type limits struct {
	all, background *rate.Limiter

	mu    sync.Mutex           // guards until
	until map[string]time.Time // when Discord accepts requests again, by route; "": on all routes
}

func newLimits() *limits {
	return &limits{
		all: rate.NewLimiter(perSecond, burst), background: rate.NewLimiter(backgroundPerSecond, 1), until: make(map[string]time.Time),
	}
}

// refused returns how long Discord refuses a request after a 429. The global limit applies to the bot's token only.
func (l *limits) refused(c call) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait := max(0, time.Until(l.until[c.route()]))
	if !c.tokenInPath {
		wait = max(wait, time.Until(l.until[""]))
	}
	return wait
}

func (l *limits) wait(ctx context.Context, c call) error {
	if c.background {
		if err := l.background.Wait(ctx); err != nil {
			return err
		}
	}
	if c.tokenInPath {
		return nil
	}
	return l.all.Wait(ctx)
}

func (l *limits) learn(c call, r refusal, header http.Header) {
	limited := r.after > 0
	shared := header.Get("X-RateLimit-Scope") == "shared"
	if r.status == http.StatusUnauthorized || r.status == http.StatusForbidden || limited && !shared {
		pays := l.all
		if c.background { // replies do not wait for it
			pays = l.background
		}
		for range invalidCost - 1 {
			pays.Reserve()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.until, func(_ string, until time.Time) bool { return time.Now().After(until) })
	if r.global {
		l.until[""] = time.Now().Add(r.after)
	} else if limited {
		l.until[c.route()] = time.Now().Add(r.after)
	}
}
