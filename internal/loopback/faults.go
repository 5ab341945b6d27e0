package loopback

import (
	"cmp"
	"context"
	"net/http"
	"path"
	"sync"
	"time"
)

// Fault is how requests fail, or are late. Status, RetryAfter, Error, Body and Cut replace the response; without them
// a Fault only delays it, or cuts it.
type Fault struct {
	Of    string // the requests, as the double names them, as in path.Match; empty: all
	Skip  int    // how many of them succeed first
	Times int    // how many then fail; 0: one, -1: all until Clear

	Delay      time.Duration // before the response; the client may disconnect earlier
	Status     int           // HTTP status, sent with Body
	RetryAfter time.Duration // of a 429
	Global     bool          // the 429 applies to all routes; only of Discord
	Code       int           // error code of Discord in the body
	Error      string        // error code of Slack in the body
	Body       string        // the exact body; an HTML page if it starts with "<"
	Cut        bool          // the connection ends: in the middle of Body, or before any byte
	CutBody    bool          // the connection ends in the middle of the body; alone, the request takes effect
	Done       bool          // the request takes effect at once; only its response is late or replaced
	Late       bool          // it takes effect after Delay even if the client has disconnected by then
}

func (f Fault) replaces() bool {
	return f.Status != 0 || f.RetryAfter > 0 || f.Error != "" || f.Body != "" || f.Cut
}

// Faults are those of a server. Their methods are safe for concurrent use.
type Faults struct {
	mu  sync.Mutex // guards all
	all []*Fault
}

// Fail adds faults. If several match a request, the oldest that is not used up applies.
func (s *Faults) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		f.Times = cmp.Or(f.Times, 1)
		s.all = append(s.all, &f)
	}
}

// Clear removes all faults.
func (s *Faults) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = nil
}

// of counts a request and returns the fault that applies to it; the zero Fault if none does.
func (s *Faults) of(request string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.all {
		switch {
		case f.Times == 0 || !Matches(request, f.Of):
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

// Matches reports whether a request is of those that a pattern names, as in Fault.Of.
func Matches(request, pattern string) bool {
	ok, err := path.Match(pattern, request)
	if err != nil {
		panic(err) // a mistake in the test
	}
	return ok || pattern == ""
}

// Exchange responds to a request with the Reply that respond returns or panics with, which makes it take effect, or as
// the fault that applies to it demands, in the words of refuse. done ends its waits. answered is called before the response is sent.
func (s *Faults) Exchange(w http.ResponseWriter, r *http.Request, request string, done <-chan struct{}, respond func() Reply, refuse func(Fault) Reply, answered func()) {
	f := s.of(request)
	connected := f.Done || Sleep(r.Context(), done, f.Delay) || f.Late && Sleep(context.Background(), done, f.Delay)
	var a Reply
	if connected && (f.Done || !f.replaces()) {
		a = caught(respond)
		connected = !f.Done || Sleep(r.Context(), done, f.Delay)
	}
	if f.replaces() {
		a = refuse(f)
	}
	answered()
	if !connected {
		panic(http.ErrAbortHandler) // net/http's way to cut a connection
	}
	a.Cut = a.Cut || f.CutBody
	a.Write(w)
}
