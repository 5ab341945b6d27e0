// Rate limits: requests are delayed before Discord refuses them.

package discord

import (
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	perSecond     = 45   // requests on all routes together; Discord allows 50 (Rate Limits: Global Rate Limit)
	slowAfter     = 2000 // invalid requests in 10 minutes before slowPerSecond applies
	slowPerSecond = 10   // requests, so that the 10 000 invalid ones that ban the IP address are out of reach
	maxBuckets    = 1000

	rounding = time.Millisecond // margin for X-RateLimit-Reset-After, which is rounded to three decimals
)

// limits keeps requests below Discord's rate limits.
type limits struct {
	mu        sync.Mutex // guards everything below
	perSecond int
	recent    []time.Time // times of the requests in the last second, oldest first
	until     time.Time   // no request may be sent before this, on any route
	buckets   map[string]bucket
	invalid   *rate.Limiter // of responses 401, 403 and 429
}

// bucket is what is left of a route's limit.
type bucket struct {
	left  int
	reset time.Time
}

func newLimits() *limits {
	invalid := rate.NewLimiter(rate.Every(10*time.Minute/slowAfter), slowAfter)
	return &limits{perSecond: perSecond, buckets: make(map[string]bucket), invalid: invalid}
}

// take returns how long a request has to wait; 0 means that it was counted and may be sent. A
// request with its own token, such as one about an interaction, is not subject to the global limit.
// A background request leaves room for others.
func (l *limits) take(route string, c call, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, known := l.buckets[route]
	if known && !now.Before(b.reset) {
		delete(l.buckets, route)
		known = false
	}
	if known && b.left <= 0 {
		return b.reset.Sub(now)
	}
	if wait := l.globalLocked(now, c.background); wait > 0 && !c.ownToken {
		return wait
	}
	if known {
		b.left--
		l.buckets[route] = b
	}
	if !c.ownToken {
		l.recent = append(l.recent, now)
	}
	return 0
}

func (l *limits) globalLocked(now time.Time, background bool) time.Duration {
	if now.Before(l.until) {
		return l.until.Sub(now)
	}
	for len(l.recent) > 0 && now.Sub(l.recent[0]) >= time.Second {
		l.recent = l.recent[1:]
	}
	allowed := l.perSecond
	if l.invalid.TokensAt(now) < 1 {
		allowed = min(allowed, slowPerSecond)
	}
	if background {
		allowed = allowed * 2 / 3
	}
	if len(l.recent) < allowed {
		return 0
	}
	return time.Second - now.Sub(l.recent[len(l.recent)-allowed])
}

// learn updates the limits from a response. after is how long a 429 asks to wait, global whether it
// is about all routes.
func (l *limits) learn(route string, status int, header http.Header, after time.Duration, global bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	limited := status == http.StatusTooManyRequests
	shared := header.Get("X-RateLimit-Scope") == "shared"
	if status == http.StatusUnauthorized || status == http.StatusForbidden || limited && !shared {
		l.invalid.ReserveN(now, 1)
	}
	switch {
	case limited && global:
		l.until = now.Add(after)
	case limited:
		l.setLocked(route, bucket{0, now.Add(after)}, now)
	default:
		left, err := strconv.Atoi(header.Get("X-RateLimit-Remaining"))
		seconds, err2 := strconv.ParseFloat(header.Get("X-RateLimit-Reset-After"), 64)
		if err == nil && err2 == nil && seconds > 0 {
			l.setLocked(route, bucket{left, now.Add(time.Duration(seconds*float64(time.Second)) + rounding)}, now)
		}
	}
}

func (l *limits) setLocked(route string, b bucket, now time.Time) {
	if len(l.buckets) >= maxBuckets {
		maps.DeleteFunc(l.buckets, func(_ string, old bucket) bool { return now.After(old.reset) })
	}
	l.buckets[route] = b
}
