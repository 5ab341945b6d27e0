// One request and its answer over HTTP.

package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"cairn/llm"
)

// maxRefusal bounds what is read of a server's refusal, in bytes.
const maxRefusal = 1 << 20

// post sends a request. What is not an answer comes back as an *llm.Error.
func (o *Model) post(ctx context.Context, address string, body []byte, silence *llm.Silence) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, &llm.Error{Kind: llm.KindBadRequest, Message: err.Error(), Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if o.options.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+o.options.APIKey)
	}
	resp, err := o.options.HTTPClient.Do(req)
	if err != nil {
		return nil, &llm.Error{Kind: llm.KindUnreachable, Message: err.Error(), Err: err}
	}
	resp.Body = silence.Body(resp.Body)
	if err := llm.Redirected(resp); err != nil {
		_ = resp.Body.Close() // its body does not matter
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer func() { _ = resp.Body.Close() }() // it is refused already
		// As much as came is judged; a refusal that breaks off is still one.
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		return nil, llm.Refused(resp.StatusCode, resp.Header, text)
	}
	return resp, nil
}

// answerReader puts an answer together, on one wire.
type answerReader interface {
	// add takes one event as the server wrote it; done is true if nothing may follow.
	add(event []byte) (done bool, err error)
	// whole takes an answer in one piece; ok is false if it is none.
	whole(body []byte) (ok bool, err error)
	// complete reports whether the server has said that the answer is whole.
	complete() bool
	// response returns the whole answer.
	response() (llm.Response, error)
}

// read reads the answer: a stream of events, or, from servers that do not stream, one
// piece of JSON. A server that answers 200 with anything else has refused.
func read(resp *http.Response, answer answerReader, maxAnswer int) (llm.Response, error) {
	reader := bufio.NewReader(resp.Body)
	first, err := firstByte(reader, maxAnswer)
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return llm.Response{}, llm.TooLong(maxAnswer)
	case err == nil && (first == '{' || first == '[' || first == '<'):
		if err := readWhole(resp, reader, answer, maxAnswer); err != nil {
			return llm.Response{}, err
		}
		return answer.response()
	}
	// An error of firstByte comes again when the events are read.
	events := newEvents(reader, maxAnswer)
	for {
		event, err := events.next()
		switch {
		case err == io.EOF && !events.done && !answer.complete(): // not errors.Is: an EOF inside another error is a broken connection
			return llm.Response{}, llm.Truncated(io.ErrUnexpectedEOF)
		case err == io.EOF:
			return answer.response()
		case err != nil:
			return llm.Response{}, err
		}
		if done, err := answer.add(event); err != nil {
			return llm.Response{}, err
		} else if done {
			return answer.response()
		}
	}
}

func readWhole(resp *http.Response, reader io.Reader, answer answerReader, maxAnswer int) error {
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
	if json.Unmarshal(body, &seen) == nil && isError(seen.Error) {
		return llm.Refused(resp.StatusCode, resp.Header, body)
	}
	ok, err := answer.whole(bytes.ToValidUTF8(body, []byte("\uFFFD")))
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
