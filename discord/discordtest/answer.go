// Answers of the REST API, those that go wrong on demand included, and the rate
// limits that every request counts against.
package discordtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// apiError is an error as Discord words it (Discord, Reference: Error Messages).
type apiError struct {
	status  int
	code    int
	message string
	field   string // of a form error, which has a reason
	kind    string
	reason  string
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %d %s", e.status, e.code, e.message) }

// invalid is the refusal of one field of a body.
func invalid(field, kind, reason string) error {
	return &apiError{http.StatusBadRequest, 50035, "Invalid Form Body", field, kind, reason}
}

type answer struct {
	status int
	header http.Header
	body   []byte
	cut    bool
	half   bool // the connection ends in the middle of the body
	shared bool // a 429 that is not held against the client
}

func answerWith(v any, err error) answer {
	a := answer{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}}
	var e *apiError
	switch {
	case errors.As(err, &e):
		body := map[string]any{"message": e.message, "code": e.code}
		if e.field != "" {
			detail := []map[string]string{{"code": e.kind, "message": e.reason}}
			body["errors"] = map[string]any{e.field: map[string]any{"_errors": detail}}
		}
		a.status, a.body = e.status, encode(body)
	case err != nil:
		panic(err) // endpoints return apiErrors only
	case v == nil:
		a.status = http.StatusNoContent
		a.header = nil
	default:
		a.body = encode(v)
	}
	return a
}

// Fault is something that goes wrong with matching requests, downloads of
// attachments included. Without Status, Cut and CutBody it only delays.
type Fault struct {
	Route string // method and path without /api/v9, as in path.Match: "POST /channels/*/messages", "GET /attachments/*/*/*"; empty: all
	Skip  int    // how many requests pass well before the first that it meets
	Times int    // how many requests it meets; 0: one
	Delay time.Duration

	Status     int           // the answer's status, 429 or 503 for instance
	Code       int           // Discord's own code in the answer's body
	RetryAfter time.Duration // of a 429
	Global     bool          // the 429 is for all routes
	Shared     bool          // the 429 is the resource's, not the client's
	Cut        bool          // the connection ends unanswered
	CutBody    bool          // the connection ends in the middle of the answer's body; alone, the request takes effect

	// Done makes the request take effect, and at once, although its answer is
	// late or this fault.
	Done bool
}

// Fail adds faults; each request meets the first that matches and is not used
// up.
func (s *Server) Fail(faults ...Fault) {
	s.do(func(w *world) {
		for _, f := range faults {
			if _, err := path.Match(f.Route, ""); err != nil {
				panic(err)
			}
			set(&f.Times, 1)
			w.faults = append(w.faults, &f)
		}
	})
}

func (w *world) fault(r *Request) *Fault {
	for _, f := range w.faults {
		switch {
		case f.Times == 0 || !r.on(f.Route):
		case f.Skip > 0:
			f.Skip--
		default:
			f.Times--
			return f
		}
	}
	return nil
}

func (r *Request) on(route string) bool {
	ok, err := path.Match(route, r.Method+" "+r.Path)
	return route == "" || err == nil && ok
}

func (f *Fault) breaks() bool { return f.Cut || f.Status != 0 }

func (f *Fault) answer() answer {
	switch {
	case f.Cut:
		return answer{cut: true}
	case f.Status == http.StatusTooManyRequests:
		return tooMany(f.RetryAfter, f.Global, f.Shared)
	case f.Status >= 500: // a proxy's page, not Discord's JSON
		return answer{status: f.Status, body: []byte("<html>" + http.StatusText(f.Status) + "</html>")}
	}
	return answerWith(nil, &apiError{status: f.Status, code: f.Code, message: http.StatusText(f.Status)})
}

// tooMany is a 429 (Discord, Rate Limits: Exceeding A Rate Limit, Header Format).
func tooMany(after time.Duration, global, shared bool) answer {
	seconds := after.Seconds()
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Retry-After", strconv.Itoa(int(math.Ceil(seconds))))
	scope := "user"
	switch {
	case global:
		scope = "global"
		header.Set("X-RateLimit-Global", "true")
	case shared:
		scope = "shared"
	}
	header.Set("X-RateLimit-Scope", scope)
	if !global {
		setLimit(header, 5, 0, time.Now().Add(after), "abcd1234")
	}
	body := encode(map[string]any{"message": "You are being rate limited.", "retry_after": seconds, "global": global})
	return answer{status: http.StatusTooManyRequests, header: header, body: body, shared: shared}
}

// limited enforces the global limit, to which interactions do not count (Discord,
// Rate Limits: Global Rate Limit).
func (w *world) limited(authorized bool) (answer, bool) {
	if !authorized {
		return answer{}, false
	}
	now := time.Now()
	if now.Sub(w.second) >= time.Second {
		w.second, w.inSecond = now, 0
	}
	if w.inSecond++; w.inSecond > w.options.GlobalPerSecond {
		return tooMany(time.Second-now.Sub(w.second), true, false), true
	}
	return answer{}, false
}

// count notes an answer that counts as an invalid request.
func (w *world) count(a *answer) {
	switch a.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		w.invalid++
	case http.StatusTooManyRequests:
		if !a.shared {
			w.invalid++
		}
	}
}

// decode reads a JSON body into v.
func (q query) decode(v any) error {
	if err := json.Unmarshal(q.body, v); err != nil {
		return invalid("_", "DICT_TYPE_CONVERT", err.Error())
	}
	return nil
}

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
