// Faults of providers: one table, for tests and for the benchmark.

package llmtest

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Fault is one way in which a provider misbehaves.
type Fault struct {
	Name string

	// Do misbehaves instead of responding. n counts the requests that have met this occurrence of the
	// fault, from 0. If Do returns false, it has written nothing, and the provider responds normally.
	Do func(x *Exchange, n int) bool
	// Reroute changes the destination of a request, or fails it, for faults before a server is
	// reached. nil: no change.
	Reroute func(r *http.Request) error

	Answered bool // a turn that meets it still gets an answer; otherwise people get a sentence about the failure
	Applied  bool // a summary of talk about the tea at the pier is still applied
	Most     int  // most requests of a turn that meet it
	Slow     bool // lasts as long as the client's timeout
}

// How many requests a turn sends: each call is tried four times, and the turn twice.
const (
	tryOnce  = 1 // permanent, or the server asked to wait
	tryTwice = 2 // no retry within a call, or half of the answer was shown
	tryAll   = 8 // possibly temporary
)

// Half is the text of incomplete answers. It must not be stored.
const Half = "HALF OF A SENTENCE THAT "

const half = Half

// Faults returns the table.
func Faults() []Fault {
	var all []Fault
	for _, part := range [][]Fault{refusals(), connections(), floods(), shapes(), misuses(), words()} {
		all = append(all, part...)
	}
	return all
}

func always(do func(x *Exchange)) func(*Exchange, int) bool {
	return func(x *Exchange, _ int) bool {
		do(x)
		return true
	}
}

// first misbehaves once; then the provider responds.
func first(do func(x *Exchange)) func(*Exchange, int) bool {
	return func(x *Exchange, n int) bool {
		if n > 0 {
			return false
		}
		do(x)
		return true
	}
}

func refusals() (all []Fault) {
	refuse := func(name string, most, status int, retryAfter, body string) {
		all = append(all, Fault{Name: name, Most: most, Do: always(func(x *Exchange) { x.Refuse(status, retryAfter, body) })})
	}
	for _, status := range []int{400, 401, 403, 404} {
		refuse(fmt.Sprint(status), tryOnce, status, "", errorBody("invalid_request_error", "no"))
	}
	refuse("408", tryAll, 408, "", "timeout")
	refuse("413", 3, 413, "", errorBody("request_too_large", "too large"))
	for _, wait := range []struct {
		name, header string
		most         int
	}{
		{"none", "", tryAll},
		{"a moment", "0.02", tryAll},
		{"negative", "-3", tryAll},
		{"nonsense", "soon", tryAll},
		{"a date gone by", "Thu, 01 Jan 1970 00:00:00 GMT", tryAll},
		{"a date to come", time.Now().Add(3 * time.Hour).UTC().Format(http.TimeFormat), tryOnce},
		{"an hour", "3600", tryOnce},
		{"absurd", "1e300", tryOnce},
	} {
		refuse("429, Retry-After: "+wait.name, wait.most, 429, wait.header, errorBody("rate_limit_exceeded", "slow down"))
	}
	for _, status := range []int{500, 501, 502, 503, 504} {
		refuse(fmt.Sprint(status), tryAll, status, "", "upstream failed at 10.0.0.7:9000")
	}
	refuse("an HTML page with 502", tryAll, 502, "", "<html><head><title>Bad Gateway</title></head><body><h1>502</h1>nginx</body></html>")
	refuse("an HTML page with 200", tryOnce, 200, "", "<html><body>Please log in</body></html>")
	refuse("200 with an error in it", tryAll, 200, "", `{"error":{"message":"engine crashed","type":"server_error"}}`)
	all = append(all,
		Fault{Name: "an error in mid-stream", Most: tryTwice, Do: always(func(x *Exchange) {
			x.Piece(half)
			x.Chunk(`{"error":{"message":"engine crashed","code":502}}`)
			x.Done()
		})},
		Fault{Name: "redirects without end", Most: tryOnce, Do: always(func(x *Exchange) {
			x.Header().Set("Location", x.http.URL.Path)
			x.Refuse(307, "", "")
		})})
	return all
}

func connections() []Fault {
	return []Fault{
		{Name: "connection refused", Most: tryAll, Reroute: func(r *http.Request) error { r.URL.Host = unusedAddress(); return nil }},
		{Name: "no such host", Most: tryAll, Reroute: func(*http.Request) error {
			return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "model.invalid", IsNotFound: true}}
		}},
		{Name: "plain HTTP where TLS was wanted", Most: tryAll, Reroute: func(r *http.Request) error { r.URL.Scheme = "https"; return nil }},
		{Name: "reset before the header", Most: tryAll, Do: always(func(x *Exchange) { x.Reset() })},
		{Name: "reset in mid-stream", Most: tryAll, Do: always(func(x *Exchange) { x.Piece(half); x.Reset() })},
		{Name: "cut in mid-stream", Most: tryAll, Do: always(func(x *Exchange) { x.Piece(half); x.Cut() })},
		{Name: "ended without [DONE]", Most: tryAll, Do: always(func(x *Exchange) { x.Piece(half) })},
		{Name: "silence before the header", Most: tryTwice, Slow: true, Do: always(func(x *Exchange) { x.Wait(time.Minute) })},
		{Name: "silence in mid-stream", Most: tryTwice, Slow: true, Do: always(func(x *Exchange) { x.Piece(half); x.Wait(time.Minute) })},
		{Name: "a byte now and then", Most: tryOnce, Slow: true, Do: always(func(x *Exchange) {
			for text := "data: " + `{"choices":[{"index":0,"delta":{"content":"` + half; x.Wait(20 * time.Millisecond); text = text[1:] + " " {
				x.Write(text[:1])
			}
		})},
		{Name: "keep-alives without end", Most: tryOnce, Slow: true, Do: always(func(x *Exchange) {
			for x.Wait(5 * time.Millisecond) {
				x.Write(": still here\n\n")
			}
		})},
	}
}

// unusedAddress returns an address on loopback on which nothing listens.
func unusedAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:1"
	}
	defer func() { _ = l.Close() }() // it was only needed for a free port
	return l.Addr().String()
}

// RoundTrip sends a request as changed by Reroute.
func (f Fault) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.Reroute == nil {
		return nil, errors.New("llmtest: this fault is the server's")
	}
	r = r.Clone(r.Context())
	if err := f.Reroute(r); err != nil {
		return nil, err
	}
	return http.DefaultTransport.RoundTrip(r)
}
