// One request on the wire and the answer to it.

package anthropic

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go/option"

	"cairn/llm"
)

// maxRefusal bounds what is read of a server's refusal, in bytes.
const maxRefusal = 1 << 20

// send makes one request and reads the whole answer to it.
func (m *Model) send(ctx context.Context, c composed, extra map[string]any, show func(string)) (llm.Response, error) {
	raw, err := encode(c.body, extra)
	if err != nil {
		return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Message: err.Error(), Err: err}
	}
	watched, silence := llm.WatchSilence(ctx, m.options.IdleTimeout)
	defer silence.Stop()

	var resp *http.Response
	client := option.WithHTTPClient(&exchange{client: m.options.HTTPClient, silence: silence})
	if err := m.client.Post(watched, "v1/messages", raw, &resp, client); err != nil {
		return llm.Response{}, known(silence.Translate(err))
	}
	defer func() { _ = resp.Body.Close() }() // the answer is read or lost
	a := answer{show: show, bounds: llm.NewBounds(c.MaxTokens, m.options.MaxAnswer)}
	if err := m.read(resp, &a); err != nil {
		return llm.Response{}, silence.Translate(err)
	}
	if a.thought && c.Thinking == nil && c.room == 0 {
		m.mu.Lock()
		m.limits.thinks = true
		m.mu.Unlock()
	}
	return a.response(m.host + " " + c.Model)
}

// known returns err as an *llm.Error.
func known(err error) error {
	var e *llm.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &llm.Error{Kind: llm.KindUnreachable, Message: err.Error(), Err: err}
	}
	// What the SDK itself refuses to send.
	return &llm.Error{Kind: llm.KindBadRequest, Message: err.Error(), Err: err}
}

// read adds the events of a response to a. A server that does not stream sends one JSON.
func (m *Model) read(resp *http.Response, a *answer) error {
	most := m.options.MaxAnswer
	reader := bufio.NewReader(resp.Body)
	first, err := firstByte(reader, most)
	if errors.Is(err, bufio.ErrTooLong) {
		return llm.TooLong(most)
	}
	if err == nil && (first == '{' || first == '[' || first == '<') {
		whole, err := io.ReadAll(io.LimitReader(reader, int64(most)+1))
		switch {
		case err != nil:
			return llm.Truncated(err)
		case len(whole) > most:
			return llm.TooLong(most)
		case !a.whole(whole):
			return llm.Refused(resp.StatusCode, resp.Header, whole)
		}
		return a.failed
	}
	events := newEvents(reader, most)
	for !a.stopped {
		data, err := events.next()
		if err != nil {
			return err
		}
		if err := a.add(data); err != nil {
			return err
		}
	}
	return nil
}

// firstByte skips at most so many bytes of white space; it does not consume what follows.
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

// exchange is the SDK's HTTP client for one request. Every failure it returns is an *llm.Error.
type exchange struct {
	client  *http.Client
	silence *llm.Silence
	most    int64 // bytes to read of the body; 0: the reader of the body limits it
}

// Do sends the request.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	resp, err := x.client.Do(req)
	if err != nil {
		return nil, &llm.Error{Kind: llm.KindUnreachable, Message: err.Error(), Err: err}
	}
	if err := llm.Redirected(resp); err != nil {
		_ = resp.Body.Close() // it redirects; the rest does not matter
		return nil, err
	}
	body := x.silence.Body(resp.Body)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer func() { _ = body.Close() }() // it is refused already
		// A refusal that breaks off is still one.
		text, _ := io.ReadAll(io.LimitReader(body, maxRefusal))
		return nil, llm.Refused(resp.StatusCode, resp.Header, text)
	}
	if resp.Body = body; x.most > 0 {
		resp.Body = limited{io.LimitReader(body, x.most), body}
	}
	return resp, nil
}

type limited struct {
	io.Reader
	io.Closer
}
