// What a provider may do wrong: one table, for tests and for the benchmark.

package llmtest

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Fault is one way of a provider to misbehave.
type Fault struct {
	Name string

	// Do misbehaves in place of an answer. n counts the requests that met the fault in
	// one go, from 0. Where it returns false nothing was written: the provider answers.
	Do func(x *Exchange, n int) bool
	// Reroute changes where a request goes, or fails: for what goes wrong before a server
	// is reached. nil: it goes where it should.
	Reroute func(r *http.Request) error

	Answered bool // a turn that meets it gets an answer all the same; else people are told in a sentence
	Applied  bool // a summary of talk about the tea at the pier is applied all the same
	Most     int  // requests that a turn makes of it at most
	Slow     bool // it takes as long as the client is patient
}

// How often a turn asks: each call is tried four times, and the turn twice.
const (
	once  = 1 // what will never be taken, and what was asked to wait
	twice = 2 // what nobody waits for again, and what was shown by half
	eight = 8 // what may pass
)

// Half is what answers say that never end. Nobody may keep it.
const Half = "HALF OF A SENTENCE THAT "

const half = Half

// Faults is the table.
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

// first misbehaves once; then the provider answers.
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
		refuse(fmt.Sprint(status), once, status, "", errorBody("invalid_request_error", "no"))
	}
	refuse("408", eight, 408, "", "timeout")
	refuse("413", 3, 413, "", errorBody("request_too_large", "too large"))
	for _, wait := range []struct {
		name, header string
		most         int
	}{
		{"none", "", eight},
		{"a moment", "0.02", eight},
		{"negative", "-3", eight},
		{"nonsense", "soon", eight},
		{"a date gone by", "Thu, 01 Jan 1970 00:00:00 GMT", eight},
		{"a date to come", time.Now().Add(3 * time.Hour).UTC().Format(http.TimeFormat), once},
		{"an hour", "3600", once},
		{"absurd", "1e300", once},
	} {
		refuse("429, Retry-After: "+wait.name, wait.most, 429, wait.header, errorBody("rate_limit_exceeded", "slow down"))
	}
	for _, status := range []int{500, 501, 502, 503, 504} {
		refuse(fmt.Sprint(status), eight, status, "", "upstream failed at 10.0.0.7:9000")
	}
	refuse("an HTML page with 502", eight, 502, "", "<html><head><title>Bad Gateway</title></head><body><h1>502</h1>nginx</body></html>")
	refuse("an HTML page with 200", once, 200, "", "<html><body>Please log in</body></html>")
	refuse("200 with an error in it", eight, 200, "", `{"error":{"message":"engine crashed","type":"server_error"}}`)
	all = append(all,
		Fault{Name: "an error in mid-stream", Most: twice, Do: always(func(x *Exchange) {
			x.Piece(half)
			x.Chunk(`{"error":{"message":"engine crashed","code":502}}`)
			x.Done()
		})},
		Fault{Name: "redirects without end", Most: once, Do: always(func(x *Exchange) {
			x.Header().Set("Location", x.http.URL.Path)
			x.Refuse(307, "", "")
		})})
	return all
}

func connections() []Fault {
	return []Fault{
		{Name: "connection refused", Most: eight, Reroute: func(r *http.Request) error { r.URL.Host = unusedAddress(); return nil }},
		{Name: "no such host", Most: eight, Reroute: func(*http.Request) error {
			return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "model.invalid", IsNotFound: true}}
		}},
		{Name: "plain HTTP where TLS was wanted", Most: eight, Reroute: func(r *http.Request) error { r.URL.Scheme = "https"; return nil }},
		{Name: "reset before the header", Most: eight, Do: always(func(x *Exchange) { x.Reset() })},
		{Name: "reset in mid-stream", Most: eight, Do: always(func(x *Exchange) { x.Piece(half); x.Reset() })},
		{Name: "cut in mid-stream", Most: eight, Do: always(func(x *Exchange) { x.Piece(half); x.Cut() })},
		{Name: "ended without [DONE]", Most: eight, Do: always(func(x *Exchange) { x.Piece(half) })},
		{Name: "silence before the header", Most: twice, Slow: true, Do: always(func(x *Exchange) { x.Wait(time.Minute) })},
		{Name: "silence in mid-stream", Most: twice, Slow: true, Do: always(func(x *Exchange) { x.Piece(half); x.Wait(time.Minute) })},
		{Name: "a byte now and then", Most: once, Slow: true, Do: always(func(x *Exchange) {
			for text := "data: " + `{"choices":[{"index":0,"delta":{"content":"` + half; x.Wait(20 * time.Millisecond); text = text[1:] + " " {
				x.Write(text[:1])
			}
		})},
		{Name: "keep-alives without end", Most: once, Slow: true, Do: always(func(x *Exchange) {
			for x.Wait(5 * time.Millisecond) {
				x.Write(": still here\n\n")
			}
		})},
	}
}

// unusedAddress is one on loopback where nobody listens.
func unusedAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:1"
	}
	defer func() { _ = l.Close() }() // it was only asked for a number
	return l.Addr().String()
}

// RoundTrip sends a request as the fault has it.
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
