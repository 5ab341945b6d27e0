// Faults: how a test makes HTTP requests fail.
package slacktest

import (
	"fmt"
	"math"
	"net/http"
	"time"
)

// Fault is something that goes wrong with requests. What is set of RetryAfter, Status, Error, Body
// and Cut spoils the answer, in the way named; a Fault of only a Delay answers late, but well.
type Fault struct {
	Method string // as in Call, or "socket" for the WebSocket handshake; empty: all of them
	Skip   int    // requests that are served well before the first that fails
	Times  int    // requests that fail; 0 means 1, -1 all of them until Heal

	Delay       time.Duration // before the answer; the client may give up earlier
	RetryAfter  time.Duration // 429 with a Retry-After of whole seconds, rounded up (apis/web-api/rate-limits)
	Status      int           // an HTTP status, with Body
	Error       string        // 200 and {"ok":false,"error":…}
	Body        string        // the body as it is; an HTML page if it begins with "<"
	Cut         bool          // the connection is cut: in the middle of Body, or without a byte
	TakesEffect bool          // the request is carried out, and only its answer is late or spoiled
	Late        bool          // it is carried out after Delay even if the client has given up by then
}

// Fail lets requests fail from now on. Of several Faults that fit a request the oldest hits it.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Times == 0 {
		f.Times = 1
	}
	s.faults = append(s.faults, &f)
}

// Heal takes all Faults away.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// faultFor counts a request and returns the Fault that hits it; the zero Fault if none does.
func (s *Server) faultFor(method string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[method]++
	for _, f := range s.faults {
		switch {
		case f.Method != "" && f.Method != method, f.Times == 0:
		case f.Skip > 0:
			f.Skip--
		default:
			if f.Times > 0 {
				f.Times--
			}
			return *f
		}
	}
	return Fault{}
}

func (f Fault) spoils() bool {
	return f.RetryAfter > 0 || f.Status != 0 || f.Error != "" || f.Body != "" || f.Cut
}

func (f Fault) reply() reply {
	switch {
	case f.RetryAfter > 0:
		return refusal{code: "ratelimited", status: http.StatusTooManyRequests, retryAfter: f.RetryAfter}.reply()
	case f.Error != "":
		return refuse(f.Error).reply()
	}
	r := reply{status: f.Status, body: []byte(f.Body), kind: "text/plain", cut: f.Cut, code: "fault"}
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if len(f.Body) > 0 && f.Body[0] == '<' {
		r.kind = "text/html; charset=utf-8"
	}
	return r
}

// reply is one HTTP answer.
type reply struct {
	status int
	kind   string // Content-Type
	retry  time.Duration
	body   []byte
	cut    bool
	code   string // Slack's name of the error
	to     string // where a redirect leads
}

// serve answers one request: as the Fault that hits it wants, or by carrying it out.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, method string, args map[string]string, carryOut func() reply) {
	call := Call{At: time.Now(), Method: method, Args: args}
	f := s.faultFor(method)
	waiting := f.TakesEffect || s.pause(r, f.Delay) || f.Late && s.sleep(f.Delay) // the client still is
	var a reply
	if waiting && (f.TakesEffect || !f.spoils()) {
		a = carryOut()
		waiting = !f.TakesEffect || s.pause(r, f.Delay)
	}
	if f.spoils() {
		a = f.reply()
	}
	if call.Error = a.code; waiting && !a.cut {
		call.Status = a.status
	}
	s.mu.Lock()
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	if !waiting {
		panic(http.ErrAbortHandler) // net/http's way to cut a connection
	}
	a.write(w)
}

// pause waits, as long as the client does.
func (s *Server) pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-s.done:
	}
	return false
}

func (a reply) write(w http.ResponseWriter) {
	if a.cut && len(a.body) == 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", a.kind)
	if a.to != "" {
		w.Header().Set("Location", a.to)
	}
	if a.retry > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(math.Ceil(a.retry.Seconds()))))
	}
	if a.cut {
		w.Header().Set("Content-Length", fmt.Sprint(len(a.body)+1000))
	}
	w.WriteHeader(a.status)
	_, err := w.Write(a.body)
	if a.cut {
		err = http.NewResponseController(w).Flush() // or the abort would swallow the body
	}
	if a.cut || err != nil {
		panic(http.ErrAbortHandler)
	}
}
