// Responses of the REST API, faults on demand, and the global rate limit.

package discordtest

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"path"
	"strconv"
	"time"

	"cairn/internal/loopback"
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

// invalid returns the error for an invalid field of a body.
func invalid(field, kind, reason string) *apiError {
	return &apiError{http.StatusBadRequest, 50035, "Invalid Form Body", field, kind, reason}
}

func refuseIf(wrong bool, why *apiError) {
	if wrong {
		panic(why)
	}
}

type answer = loopback.Reply

// jsonAnswer returns a response with a JSON body.
func jsonAnswer(status int, v any) answer {
	return answer{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: loopback.Encode(v)}
}

func (e *apiError) answer() answer {
	body := map[string]any{"message": e.message, "code": e.code}
	if e.field != "" {
		detail := []map[string]string{{"code": e.kind, "message": e.reason}}
		body["errors"] = map[string]any{e.field: map[string]any{"_errors": detail}}
	}
	return jsonAnswer(e.status, body)
}

// answerOf returns the response of an endpoint, or the error with which it refuses the request.
func answerOf(respond func() any) answer {
	var v any
	refusal, refused := loopback.Catch[*apiError](func() { v = respond() })
	switch {
	case refused:
		return refusal.answer()
	case v == nil:
		return answer{Status: http.StatusNoContent, Header: http.Header{}}
	}
	return jsonAnswer(http.StatusOK, v)
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
			f.Times = cmp.Or(f.Times, 1)
			w.faults = append(w.faults, &f)
		}
	})
}

func (w *world) fault(r *Request) Fault {
	for _, f := range w.faults {
		switch {
		case f.Times == 0 || !r.on(f.Route):
		case f.Skip > 0:
			f.Skip--
		default:
			f.Times--
			return *f
		}
	}
	return Fault{}
}

func (r *Request) on(route string) bool {
	ok, err := path.Match(route, r.Method+" "+r.Path)
	if err != nil {
		panic(err) // a mistake in the test
	}
	return ok || route == ""
}

func (f Fault) breaks() bool { return f.Cut || f.Status != 0 }

func (f Fault) answer() answer {
	switch {
	case f.Cut:
		return answer{Cut: true}
	case f.Status == http.StatusTooManyRequests:
		return tooMany(f.RetryAfter, f.Global)
	case f.Status >= 500: // a proxy's page, not Discord's JSON
		return answer{Status: f.Status, Body: []byte("<html>" + http.StatusText(f.Status) + "</html>")}
	}
	return (&apiError{status: f.Status, code: f.Code, message: http.StatusText(f.Status)}).answer()
}

// tooMany returns a 429 (Discord, Rate Limits: Exceeding A Rate Limit, Header Format).
func tooMany(after time.Duration, global bool) answer {
	seconds := after.Seconds()
	a := jsonAnswer(http.StatusTooManyRequests, map[string]any{"message": "You are being rate limited.", "retry_after": seconds, "global": global})
	header := a.Header
	header.Set("Retry-After", strconv.Itoa(int(math.Ceil(seconds))))
	if global {
		header.Set("X-RateLimit-Global", "true")
	}
	return a
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
	w.inSecond++
	return tooMany(time.Second-now.Sub(w.second), true), w.inSecond > w.options.GlobalPerSecond
}

// decode decodes a JSON body into v.
func (q query) decode(v any) {
	if err := json.Unmarshal(q.body, v); err != nil {
		panic(invalid("_", "DICT_TYPE_CONVERT", err.Error()))
	}
}
