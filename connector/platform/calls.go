// What a connector asked its platform, and what came back: methods, results and times, without ids, texts and tokens, so that people
// can pass it on.

package platform

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Calls are the requests of a client since Record. It is safe for concurrent use.
type Calls struct {
	client *http.Client
	name   func(*http.Request) string

	mu      sync.Mutex    // guards what follows
	all     []Call        // that have ended, in this order
	changed chan struct{} // closed at the next end of a call
}

// Call is one request.
type Call struct {
	Name    string // "chat.postMessage", "POST /channels/*/messages"
	Result  string // "ok", or what the platform refused it with
	Refused bool   // for another reason than a rate limit
	Took    time.Duration
}

const noAnswer = "no answer"

func (c Call) String() string {
	return fmt.Sprintf("%s: %s, %d ms", c.Name, c.Result, c.Took.Milliseconds())
}

// Record records the requests that a client makes from now on. name names one without anything private. Nothing may use the client yet.
func Record(client *http.Client, name func(*http.Request) string) *Calls {
	c := &Calls{client: client, name: name, changed: make(chan struct{})}
	client.Transport = recording{client.Transport, c}
	return c
}

// Since returns the calls after the first n.
func (c *Calls) Since(n int) []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Call(nil), c.all[n:]...)
}

// Count returns how many calls have ended.
func (c *Calls) Count() int { return len(c.Since(0)) }

// Await waits until one of the calls after the first n is as is wants. It returns ctx's error if ctx ends first.
func (c *Calls) Await(ctx context.Context, n int, is func(Call) bool) (found Call, err error) {
	for {
		c.mu.Lock()
		changed := c.changed
		later := c.all[n:]
		c.mu.Unlock()
		for _, call := range later {
			if is(call) {
				return call, nil
			}
		}
		n += len(later)
		select {
		case <-changed:
		case <-ctx.Done():
			return Call{}, ctx.Err()
		}
	}
}

func (c *Calls) add(call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, call)
	close(c.changed)
	c.changed = make(chan struct{})
}

// recording records what passes through it.
type recording struct {
	http.RoundTripper
	calls *Calls
}

func (r recording) RoundTrip(q *http.Request) (*http.Response, error) {
	call := Call{Name: r.calls.name(q)}
	start := time.Now()
	resp, err := r.RoundTripper.RoundTrip(q)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	call.Took = time.Since(start)
	if err != nil {
		call.Result = noAnswer
		call.Refused = true
		r.calls.add(call)
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	call.note(resp.StatusCode, body)
	r.calls.add(call)
	return resp, nil
}

// CloseIdleConnections is what http.Client calls.
func (r recording) CloseIdleConnections() {
	if pool, ok := r.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		pool.CloseIdleConnections()
	}
}

// note reads the result from a response of Slack (apis/web-api/responses) or Discord (Reference: Error Messages).
func (c *Call) note(status int, body []byte) {
	var answer struct {
		OK      any    `json:"ok"`
		Error   string `json:"error"`
		Needed  string `json:"needed"` // the missing scope
		Warning string `json:"warning"`
		Code    int    `json:"code"`
	}
	_ = Decode(body, &answer) // what is no JSON says nothing
	refused := answer.OK == false
	switch {
	case status >= http.StatusBadRequest && answer.Code != 0:
		c.Result = fmt.Sprintf("HTTP %d, code %d", status, answer.Code)
	case status >= http.StatusBadRequest:
		c.Result = fmt.Sprintf("HTTP %d", status)
	case refused:
		c.Result = cmp.Or(answer.Error, "refused")
	default:
		c.Result = "ok"
	}
	if refused && answer.Needed != "" {
		c.Result += " (needs " + answer.Needed + ")"
	}
	if answer.Warning != "" {
		c.Result += " (warning " + answer.Warning + ")"
	}
	limited := status == http.StatusTooManyRequests || answer.Error == "ratelimited"
	c.Refused = (refused || status >= http.StatusBadRequest) && !limited
}

// private matches ids, timestamps and names of conversations in the words of an error.
var private = regexp.MustCompile(`\b(?:discord|slack):\S+|\b[ABCDGTUW][A-Z0-9]{6,}\b|\b\d{6,}(?:\.\d+)?\b`)

// withoutIDs returns the words of an error without ids.
func withoutIDs(err error) string {
	return strings.TrimSpace(private.ReplaceAllString(err.Error(), "…"))
}
