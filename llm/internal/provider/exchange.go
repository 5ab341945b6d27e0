// One request and its answer over HTTP, whatever the wire.

package provider

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"

	"cairn/llm"
)

// maxRefusal limits how many bytes of a server's refusal are read.
const maxRefusal = 1 << 20

// Answer assembles an answer on one wire.
type Answer interface {
	// Add adds one event; done is true if it is the last one.
	Add(event []byte) (done bool, err error)
	// Whole parses an answer in one piece; ok is false if it is not one.
	Whole(body []byte) (ok bool, err error)
	// Complete reports whether the server has marked the answer as complete.
	Complete() bool
	// Response returns the whole answer.
	Response() (llm.Response, error)
	// Counted returns what the server has counted so far.
	Counted() llm.Usage
}

// Exchange sends a request with post and reads the whole answer. A silent server is an error,
// unless alive is set, see llm.Request. With an error the response contains what the server
// counted, if anything.
func (c *Client) Exchange(ctx context.Context, alive func(), answer Answer, post func(ctx context.Context, t *Transport) (*http.Response, error)) (llm.Response, error) {
	watched, silence := llm.WatchSilence(ctx, c.Options.IdleTimeout)
	defer silence.Stop()
	silence.Report(alive)
	resp, err := post(watched, c.Transport(silence))
	if err != nil {
		return llm.Response{}, silence.Translate(err)
	}
	defer func() { _ = resp.Body.Close() }() // the answer is read or lost; nothing more can be done about it
	whole, err := read(resp, answer, c.Options.MaxAnswer)
	if err != nil {
		return llm.Response{Usage: answer.Counted()}, silence.Translate(err)
	}
	silence.Drain(resp.Body)
	return whole, nil
}

// Transport sends requests. Every failure it returns is an *llm.Error.
type Transport struct {
	Most int64 // maximum number of bytes of a body; 0: its reader limits it

	client  *http.Client
	silence *llm.Silence
}

// Transport returns a Transport whose bodies silence watches.
func (c *Client) Transport(silence *llm.Silence) *Transport {
	return &Transport{client: c.Options.HTTPClient, silence: silence}
}

// Do sends a request. Any status but success is an error.
func (t *Transport) Do(req *http.Request) (*http.Response, error) {
	resp, err := t.client.Do(req)
	if err != nil {
		return nil, &llm.Error{Kind: llm.KindUnreachable, Message: err.Error(), Err: err}
	}
	resp.Body = t.silence.Body(resp.Body)
	if err := redirected(resp); err != nil {
		_ = resp.Body.Close() // its body does not matter
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer func() { _ = resp.Body.Close() }() // it is refused already
		// A refusal that breaks off is classified by the part that arrived.
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		return nil, llm.Refused(resp.StatusCode, resp.Header, text)
	}
	if t.Most > 0 {
		resp.Body = limited{io.LimitReader(resp.Body, t.Most), resp.Body}
	}
	return resp, nil
}

type limited struct {
	io.Reader
	io.Closer
}

// read reads the answer: a stream of events, or, from servers that do not stream, one piece of
// JSON. Anything else in a response with status 200 is a refusal.
func read(resp *http.Response, answer Answer, maxAnswer int) (llm.Response, error) {
	reader := bufio.NewReader(resp.Body)
	first, err := firstByte(reader, maxAnswer)
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return llm.Response{}, llm.TooLong(maxAnswer)
	case err == nil && (first == '{' || first == '[' || first == '<'):
		if err := readWhole(resp, reader, answer, maxAnswer); err != nil {
			return llm.Response{}, err
		}
		return answer.Response()
	}
	// An error of firstByte recurs when the events are read.
	events := newEvents(reader, maxAnswer)
	for {
		event, err := events.next()
		switch {
		case err == io.EOF && !events.done && !answer.Complete(): // not errors.Is: an EOF inside another error is a broken connection
			return llm.Response{}, llm.Truncated(io.ErrUnexpectedEOF)
		case err == io.EOF:
			return answer.Response()
		case err != nil:
			return llm.Response{}, err
		}
		if done, err := answer.Add(event); err != nil {
			return llm.Response{}, err
		} else if done {
			return answer.Response()
		}
	}
}

func readWhole(resp *http.Response, reader io.Reader, answer Answer, maxAnswer int) error {
	body, err := io.ReadAll(io.LimitReader(reader, int64(maxAnswer)+1))
	switch {
	case err != nil:
		return llm.Truncated(err)
	case len(body) > maxAnswer:
		return llm.TooLong(maxAnswer)
	case llm.Crowded(body):
		return llm.TooMany(llm.MaxParts, "parts")
	}
	var seen struct{ Error json.RawMessage }
	// Whole refuses a body that is not JSON below.
	if json.Unmarshal(body, &seen) == nil && IsError(seen.Error) {
		return llm.Refused(resp.StatusCode, resp.Header, body)
	}
	ok, err := answer.Whole(bytes.ToValidUTF8(body, []byte("\uFFFD")))
	if err == nil && !ok {
		return llm.Refused(resp.StatusCode, resp.Header, body)
	}
	return err
}

// firstByte skips at most most bytes of white space and returns the byte after it without consuming
// it.
func firstByte(reader *bufio.Reader, most int) (byte, error) {
	for range most {
		next, err := reader.Peek(1)
		if err != nil {
			return 0, err
		}
		if next[0] != ' ' && next[0] != '\t' && next[0] != '\r' && next[0] != '\n' {
			return next[0], nil
		}
		_, _ = reader.Discard(1) // it was peeked
	}
	return 0, bufio.ErrTooLong
}

// httpClient returns a copy of client, or a new one for nil, that follows no redirects: conversation
// and key go only to the configured server.
func httpClient(client *http.Client) *http.Client {
	own := *cmp.Or(client, &http.Client{})
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// redirected returns the error for a redirect, nil for any other response. The message contains the
// new address without its query and user.
func redirected(resp *http.Response) error {
	if resp.StatusCode < 300 || resp.StatusCode > 399 {
		return nil
	}
	to := "another address"
	if at, err := resp.Location(); err == nil {
		to = llm.Clip((&url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path}).String())
	}
	return &llm.Error{Kind: llm.KindBadRequest, Status: resp.StatusCode, Message: "the server redirects to " + to + ": set base_url to the right address"}
}
