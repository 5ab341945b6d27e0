// Package loopback is what the doubles of platforms and models share: HTTP responses and WebSockets
// that fail on demand. It imports nothing of Cairn.
package loopback

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Reply is an HTTP response.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
	Cut    bool // the connection ends in the middle of the body, or without a response if there is none
}

// Write sends the response.
func (a Reply) Write(w http.ResponseWriter) {
	if a.Cut && len(a.Body) == 0 {
		panic(http.ErrAbortHandler) // net/http's way to end a connection without a response
	}
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	if !a.Cut {
		w.WriteHeader(a.Status)
		_, _ = w.Write(a.Body) // the client may have disconnected
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body[:len(a.Body)/2])
	_ = http.NewResponseController(w).Flush() // otherwise the abort would discard the first half
	panic(http.ErrAbortHandler)
}

// caught returns what respond returns, or the Reply with which it panicked.
func caught(respond func() Reply) (a Reply) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case Reply:
			a = p
		default:
			panic(p)
		}
	}()
	return respond()
}

// Sleep waits and returns true, or returns false if ctx ends or done is closed before that.
func Sleep(ctx context.Context, done <-chan struct{}, d time.Duration) bool {
	if d <= 0 { // a request takes effect even if its client has gone
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-done:
	}
	return false
}

// Must returns what a test names by its id. It panics if there is none.
func Must[T any](m map[string]*T, id, what string) *T {
	if v, ok := m[id]; ok {
		return v
	}
	panic(fmt.Sprintf("the test names a %s that does not exist: %q", what, id))
}

// Encode returns v as JSON. It panics if v cannot be encoded, which is a mistake in a test.
func Encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return raw
}
