// One request and its answer over HTTP, whatever the wire.

package provider

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"

	"cairn/llm"
)

// maxRefusal bounds what is read of a server's refusal, in bytes.
const maxRefusal = 1 << 20

// Answer puts an answer together, on one wire.
type Answer interface {
	// Add takes one event as the server wrote it; done is true if nothing may follow.
	Add(event []byte) (done bool, err error)
	// Whole takes an answer in one piece; ok is false if it is none.
	Whole(body []byte) (ok bool, err error)
	// Complete reports whether the server has said that the answer is whole.
	Complete() bool
	// Response returns the whole answer.
	Response() (llm.Response, error)
	// Counted is what the server has counted so far.
	Counted() llm.Usage
}

// Exchange sends a request with post and reads the whole answer to it. A server that falls
// silent is given up, unless alive is set, see llm.Request. With an error the response
// holds what the server counted, if it did.
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
	Most int64 // bytes to read of a body; 0: its reader limits it

	client  *http.Client
	silence *llm.Silence
}

// Transport returns one whose bodies silence watches.
func (c *Client) Transport(silence *llm.Silence) *Transport {
	return &Transport{client: c.Options.HTTPClient, silence: silence}
}

// Do sends a request. What is not an answer is an error.
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
		// As much as came is judged; a refusal that breaks off is still one.
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

// read reads the answer: a stream of events, or, from servers that do not stream, one
// piece of JSON. A server that answers 200 with anything else has refused.
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
	// An error of firstByte comes again when the events are read.
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
	// A body that is no JSON is refused by whole below.
	if json.Unmarshal(body, &seen) == nil && IsError(seen.Error) {
		return llm.Refused(resp.StatusCode, resp.Header, body)
	}
	ok, err := answer.Whole(bytes.ToValidUTF8(body, []byte("\uFFFD")))
	if err == nil && !ok {
		return llm.Refused(resp.StatusCode, resp.Header, body)
	}
	return err
}

// firstByte looks past at most so many bytes of white space, without reading what it finds.
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

// httpClient returns client, or a new one for nil, that follows no redirect unless
// client says so: a conversation and a key go to the configured server only.
func httpClient(client *http.Client) *http.Client {
	var own http.Client
	if client != nil {
		own = *client
	}
	if own.CheckRedirect == nil {
		own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &own
}

// redirected returns the error of a response that redirects, nil for any other. The
// message holds the new address without its query and user.
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
