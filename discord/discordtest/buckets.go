// Rate limits of single routes, which a test asks for: Discord's own are not
// documented and change.
package discordtest

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"
)

// RouteLimit is how many requests a route takes in a time, for each channel,
// guild or webhook by itself. Answers carry the X-RateLimit headers, and what is
// too much gets a 429 with the scope "user" (Discord, Rate Limits: Header Format).
type RouteLimit struct {
	Route    string // as in Fault; it should be one method and one path
	Requests int
	Per      time.Duration
}

// bucket is a RouteLimit's count for one top-level resource.
type bucket struct {
	limit RouteLimit
	name  string // of the route, not of the resource
	used  int
	reset time.Time
}

// Limit adds limits; a request counts for the first that matches.
func (s *Server) Limit(limits ...RouteLimit) {
	s.do(func(w *world) {
		for _, l := range limits {
			if _, err := path.Match(l.Route, ""); err != nil || l.Requests < 1 || l.Per <= 0 {
				panic(fmt.Sprintf("discordtest: no limit: %+v", l))
			}
			w.limits = append(w.limits, l)
		}
	})
}

// bucketOf finds what a request counts for, nil if it is not limited. A window
// begins with its first request (judgement).
func (w *world) bucketOf(r *Request) *bucket {
	for i, l := range w.limits {
		if !r.on(l.Route) {
			continue
		}
		key := fmt.Sprint(i, topResource(r.Path))
		b := w.buckets[key]
		if b == nil {
			b = &bucket{limit: l, name: fmt.Sprintf("bucket-%d", i)}
			w.buckets[key] = b
		}
		if now := time.Now(); !now.Before(b.reset) {
			b.used, b.reset = 0, now.Add(l.Per)
		}
		return b
	}
	return nil
}

// topResource is the part of a path by which limits are told apart: channels,
// guilds, and webhooks with their token (Discord, Rate Limits).
func topResource(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	n := map[string]int{"channels": 2, "guilds": 2, "webhooks": 3}[parts[0]]
	return strings.Join(parts[:min(n, len(parts))], "/")
}

// take counts a request, or refuses it.
func (b *bucket) take() (answer, bool) {
	if b.used >= b.limit.Requests {
		return tooMany(time.Until(b.reset), false, false), false
	}
	b.used++
	return answer{}, true
}

// mark puts the headers on an answer.
func (b *bucket) mark(a *answer) {
	if a.header == nil {
		a.header = http.Header{}
	}
	setLimit(a.header, b.limit.Requests, b.limit.Requests-b.used, b.reset, b.name)
}

func setLimit(h http.Header, limit, remaining int, reset time.Time, bucket string) {
	h.Set("X-RateLimit-Limit", fmt.Sprint(limit))
	h.Set("X-RateLimit-Remaining", fmt.Sprint(remaining))
	h.Set("X-RateLimit-Reset", fmt.Sprintf("%.3f", float64(reset.UnixMilli())/1000))
	h.Set("X-RateLimit-Reset-After", fmt.Sprintf("%.3f", max(0, time.Until(reset).Seconds())))
	h.Set("X-RateLimit-Bucket", bucket)
}
