// Responses of the REST API, faults on demand, and the rate limits that every request counts
// against.
package discordtest

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// apiError is an error in Discord's format (Discord, Reference: Error Messages).
type apiError struct {
	status  int
	code    int
	message string
	field   string // of a form error, with reason
	kind    string
	reason  string
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %d %s", e.status, e.code, e.message) }

// invalid returns the error for an invalid field of a body.
func invalid(field, kind, reason string) error {
	return &apiError{http.StatusBadRequest, 50035, "Invalid Form Body", field, kind, reason}
}

func refuseIf(wrong bool, why error) {
	if wrong {
		panic(why)
	}
}

type answer struct {
	status    int
	header    http.Header
	body      []byte
	cut       bool
	truncated bool // the connection ends in the middle of the body
	shared    bool // a 429 that does not count against the client
}

func (e *apiError) answer() answer {
	body := map[string]any{"message": e.message, "code": e.code}
	if e.field != "" {
		detail := []map[string]string{{"code": e.kind, "message": e.reason}}
		body["errors"] = map[string]any{e.field: map[string]any{"_errors": detail}}
	}
	return answer{status: e.status, header: http.Header{"Content-Type": {"application/json"}}, body: encode(body)}
}

// answerOf returns the response of an endpoint, or the error with which it refuses the request.
func answerOf(respond func() any) (a answer) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *apiError:
			a = e.answer()
		default:
			panic(e)
		}
	}()
	v := respond()
	if v == nil {
		return answer{status: http.StatusNoContent}
	}
	return answer{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, body: encode(v)}
}

// Fault is a fault of matching requests, downloads of attachments included. Without Status, Cut and
// CutBody it only delays.
type Fault struct {
	Route string // method and path without /api/v9, as in path.Match: "POST /channels/*/messages", "GET /attachments/*/*/*"; empty: all
	Skip  int    // how many matching requests succeed first
	Times int    // how many requests then fail; 0: one
	Delay time.Duration

	Status     int           // status of the response, such as 429 or 503
	Code       int           // Discord's code in the body of the response
	RetryAfter time.Duration // of a 429
	Global     bool          // the 429 applies to all routes
	Shared     bool          // the 429 is for the resource, not for the client
	Cut        bool          // the connection ends without a response
	CutBody    bool          // the connection ends in the middle of the response's body; alone, the request takes effect

	// Done makes the request take effect immediately, although its response is delayed or replaced by
	// the fault.
	Done bool
}

// Fail adds faults. Each request is affected by the first one that matches and is not used up.
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
	return (&apiError{status: f.Status, code: f.Code, message: http.StatusText(f.Status)}).answer()
}

// tooMany returns a 429 (Discord, Rate Limits: Exceeding A Rate Limit, Header Format).
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

// limited enforces the global limit, against which interactions do not count (Discord, Rate Limits:
// Global Rate Limit).
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

// count counts a response that Discord treats as an invalid request.
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

// decode decodes a JSON body into v.
func (q query) decode(v any) {
	if err := json.Unmarshal(q.body, v); err != nil {
		panic(invalid("_", "DICT_TYPE_CONVERT", err.Error()))
	}
}

// RouteLimit limits the requests of a route in a time, separately for each channel, guild or
// webhook. Responses have the X-RateLimit headers, and excess requests get a 429 with the scope
// "user" (Discord, Rate Limits: Header Format).
type RouteLimit struct {
	Route    string // as in Fault; it should match one method and one path
	Requests int
	Per      time.Duration
}

// bucket is the state of a RouteLimit for one top-level resource.
type bucket struct {
	limit RouteLimit
	name  string // of the route, not of the resource
	used  int
	reset time.Time
}

// Limit adds limits; a request counts against the first that matches.
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

// bucketOf returns the bucket of a request; nil if it is not limited. A window starts with its
// first request (judgement).
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

// topResource returns the part of a path that separates limits: channels, guilds, and webhooks with
// their token (Discord, Rate Limits).
func topResource(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	n := map[string]int{"channels": 2, "guilds": 2, "webhooks": 3}[parts[0]]
	return strings.Join(parts[:min(n, len(parts))], "/")
}

// take counts a request, or rejects it.
func (b *bucket) take() (answer, bool) {
	if b.used >= b.limit.Requests {
		return tooMany(time.Until(b.reset), false, false), false
	}
	b.used++
	return answer{}, true
}

// mark sets the rate limit headers of a response.
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
