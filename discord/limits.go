// Rate limits: requests are delayed before Discord refuses them.

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
	perSecond           = 40   // requests on all routes together; with a burst, at most the 50 that Discord allows in a second (Rate Limits: Global Rate Limit)
	burst               = 10   // requests at once
	backgroundPerSecond = 25   // requests in the background, so that there is room for others
	slowAfter           = 2000 // invalid requests in 10 minutes before slowPerSecond applies
	slowPerSecond       = 10   // requests, so that the 10 000 invalid ones that ban the IP address are out of reach
)

type limits struct {
	all, background, slow *rate.Limiter
	invalid               *rate.Limiter // of responses 401, 403 and 429

	mu    sync.Mutex           // guards until
	until map[string]time.Time // when Discord accepts requests again, by route; "": on all routes
}

func newLimits() *limits {
	return &limits{
		all: rate.NewLimiter(perSecond, burst), background: rate.NewLimiter(backgroundPerSecond, 1), slow: rate.NewLimiter(slowPerSecond, 1),
		invalid: rate.NewLimiter(rate.Every(10*time.Minute/slowAfter), slowAfter), until: make(map[string]time.Time),
	}
}

// refused returns how long Discord refuses a request after a 429. The global limit applies to the bot's token only.
func (l *limits) refused(c call) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait := time.Until(l.until[c.route()])
	if !c.ownToken {
		wait = max(wait, time.Until(l.until[""]))
	}
	return max(wait, 0)
}

// wait waits for the global limit. It returns an error if ctx ends first.
func (l *limits) wait(ctx context.Context, c call) (err error) {
	for _, limit := range []struct {
		*rate.Limiter
		applies bool
	}{{l.slow, l.invalid.Tokens() < 1}, {l.background, c.background}, {l.all, !c.ownToken}} {
		if limit.applies && err == nil {
			err = limit.Wait(ctx)
		}
	}
	return err
}

func (l *limits) learn(c call, r refusal, header http.Header) {
	limited, shared := r.after > 0, header.Get("X-RateLimit-Scope") == "shared"
	if r.status == http.StatusUnauthorized || r.status == http.StatusForbidden || limited && !shared {
		l.invalid.Reserve()
	}
	if !limited {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.until, func(_ string, until time.Time) bool { return time.Now().After(until) })
	route := c.route()
	if r.global {
		route = ""
	}
	l.until[route] = time.Now().Add(r.after)
}
