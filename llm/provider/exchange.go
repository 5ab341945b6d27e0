// One request and its answer over HTTP, whatever the wire.

package provider

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"cairn/internal/network"
	"cairn/llm"
)

// maxRefusal limits how many bytes of a server's refusal are read.
const maxRefusal = 1 << 20

// Reader reads the events of one wire into an Answer.
type Reader interface {
	// Add adds one event; done is true if it is the last one.
	Add(event []byte) (done bool, err error)
	// Native returns what the provider added to the message with these calls, to be sent back; nil if nothing.
	Native(calls []llm.Call) json.RawMessage
}

// Marshal is json.Marshal without HTML escapes, which take tokens.
func Marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// exchange posts a form, and reads the full answer. With an error the response has the usage that was counted.
func (c *Client) exchange(ctx context.Context, form *Form, p Plan) (answer llm.Response, err error) {
	form.json, err = Marshal(form.Body)
	if err != nil {
		return llm.Response{}, unsendable(fmt.Errorf("write the request: %w", err))
	}
	reading, stop := p.Answer.watchdog.start(ctx, c.Options.StreamIdle, c.Options.IdleTimeout)
	defer stop()
	err = c.send(reading, p.Answer.whenWorking(p.Alive), http.MethodPost, form.Address, payload{jsonType, form.json}, func(resp *http.Response) (err error) {
		answer, err = p.Answer.read(resp, form)
		return err
	})
	err = p.Answer.watchdog.explain(ctx, err)
	if err != nil {
		return llm.Response{Usage: p.Answer.Usage}, err
	}
	return answer, nil
}

// Ask gets JSON from the server. A field of another type than in into stays empty. Errors are *llm.Error.
func (c *Client) Ask(ctx context.Context, address string, into any) error {
	const maxFacts = 4 << 20 // bytes; OpenRouter's list of models has 1 MB
	return c.send(ctx, nil, http.MethodGet, address, payload{}, func(resp *http.Response) error {
		err := readJSON(resp, maxFacts, into)
		if _, ofAnotherType := errors.AsType[*json.UnmarshalTypeError](err); ofAnotherType {
			return nil
		}
		return err
	})
}

// Post posts a body, and reads the JSON of at most limit bytes that the server answers, with the retries of Generate. Errors are
// *llm.Error, or ctx's.
func (c *Client) Post(ctx context.Context, address string, body any, limit int64, into any) error {
	sent, err := Marshal(body)
	if err != nil {
		return unsendable(fmt.Errorf("write the request: %w", err))
	}
	return c.PostAs(ctx, jsonType, address, sent, limit, into)
}

// PostAs is Post with a body of another media type than JSON.
func (c *Client) PostAs(ctx context.Context, mediaType, address string, sent []byte, limit int64, into any) error {
	_, err := c.retry(ctx, llm.Request{}, new(bool), 1+c.Options.MaxRetries, func(ctx context.Context, req llm.Request) (llm.Response, error) {
		return llm.Response{}, c.send(ctx, req.Alive, http.MethodPost, address, payload{mediaType, sent}, func(resp *http.Response) error {
			err := readJSON(resp, limit, into)
			if wrong, ofAnotherType := errors.AsType[*json.UnmarshalTypeError](err); ofAnotherType {
				return &llm.Error{Kind: llm.KindBadRequest, Message: "the answer is not what it should be: " + wrong.Error(), Err: wrong}
			}
			return err
		})
	})
	return err
}

// readJSON reads the JSON of a success. Its error is a *llm.Error, or a *json.UnmarshalTypeError after all other fields were read.
func readJSON(resp *http.Response, limit int64, into any) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return &llm.Error{Kind: llm.KindUnreachable, Message: err.Error(), Err: err}
	case int64(len(text)) > limit:
		return llm.TooLong(int(limit), "bytes")
	}
	if err := errorIn(resp, text); err != nil {
		return err
	}
	err = json.Unmarshal(text, into)
	if _, ofAnotherType := errors.AsType[*json.UnmarshalTypeError](err); err == nil || ofAnotherType {
		return err
	}
	return unreadable(resp, text)
}

// unsendable returns the error of a request that cannot be made: the same one would fail again.
func unsendable(err error) *llm.Error {
	return &llm.Error{Kind: llm.KindBadRequest, Message: err.Error(), Err: err}
}

const jsonType = "application/json"

// payload is the body of a request; zero: it has none.
type payload struct {
	mediaType string
	bytes     []byte
}

// send sends a request, and has receive read the body of a success. alive, unless nil, is called whenever bytes arrive.
// Every failure is an *llm.Error, and any status but success is one.
func (c *Client) send(ctx context.Context, alive func(), method, address string, body payload, receive func(*http.Response) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body.bytes))
	if err != nil {
		return unsendable(err)
	}
	req.Header = c.Header.Clone()
	if body.mediaType != "" {
		req.Header.Set("Content-Type", body.mediaType)
	}
	resp, err := c.Options.HTTPClient.Do(req)
	if err != nil {
		err = network.OfProxy(req.URL, err)
		return &llm.Error{Kind: llm.KindUnreachable, Message: err.Error(), Err: err}
	}
	defer func() { _ = resp.Body.Close() }() // it is read, refused or lost
	resp.Body = livingBody{resp.Body, alive}
	switch resp.StatusCode / 100 {
	case 2:
		if err := receive(resp); err != nil {
			return err
		}
		drain(resp.Body, cancel)
		return nil
	case 3: // a redirect, whose page may contain a key
		return llm.Refused(resp.StatusCode, nil, nil)
	}
	// A refusal that breaks off is classified by the part that arrived.
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	return llm.Refused(resp.StatusCode, resp.Header, text)
}

type livingBody struct {
	io.ReadCloser
	alive func() // may be nil
}

func (b livingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.alive != nil {
		b.alive()
	}
	return n, err
}

// drain reads the rest of a body that arrives immediately: otherwise the connection could not be reused.
func drain(body io.Reader, cancel func()) {
	const limit, soon = 4 << 10, 50 * time.Millisecond
	defer time.AfterFunc(soon, cancel).Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(body, limit)) // on an error the connection is merely not reused
}

// read reads the answer: a stream of events, or, from servers that do not stream, one piece of JSON. Anything else in
// a response with status 200 is a refusal.
func (a *Answer) read(resp *http.Response, form *Form) (llm.Response, error) {
	reader := bufio.NewReader(resp.Body)
	first, err := firstByte(reader, a.all.max)
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return llm.Response{}, llm.TooLong(a.all.max, "bytes")
	case err == nil && (first == '{' || first == '[' || first == '<'):
		a.heard = time.Now()
		err = a.readUnstreamed(resp, reader, form)
	default: // an error of firstByte recurs when the events are read
		err = a.readEvents(newEvents(reader, a.limits), form)
	}
	err = cmp.Or(err, a.over)
	if err != nil {
		return llm.Response{}, err
	}
	return a.respond(form.Reader)
}

func (a *Answer) readEvents(events *events, form *Form) error {
	for {
		event, err := events.next()
		switch {
		case err == io.EOF && (a.Finish != "" || form.Unstreamed != "" && events.done): // not errors.Is: the connection may be broken
			return nil
		case a.Finish != "" && a.watchdog.stalled.Load(): // complete, but the server left the stream open
			return nil
		case err == io.EOF:
			return llm.Truncated(io.ErrUnexpectedEOF)
		case err != nil:
			return err
		}
		before := a.content
		done, err := form.Reader.Add(event)
		a.countEvent(before)
		if done || err != nil || a.over != nil {
			return err
		}
	}
}

func (a *Answer) readUnstreamed(resp *http.Response, reader io.Reader, form *Form) error {
	body, err := io.ReadAll(io.LimitReader(reader, int64(a.all.max)+1))
	switch {
	case err != nil:
		return llm.Truncated(err)
	case len(body) > a.all.max:
		return llm.TooLong(a.all.max, "bytes")
	case crowded(body):
		return llm.TooLong(maxParts, "parts")
	}
	if err := errorIn(resp, body); err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || !Filled(fields[form.Unstreamed]) {
		return unreadable(resp, body)
	}
	_, err = form.Reader.Add(bytes.ToValidUTF8(body, []byte("\uFFFD")))
	return err
}

// errorIn returns the error that a server sent with the status of a success; nil if there is none.
func errorIn(resp *http.Response, body []byte) error {
	var seen struct{ Error json.RawMessage }
	if json.Unmarshal(body, &seen) == nil && Filled(seen.Error) {
		return llm.Refused(resp.StatusCode, resp.Header, body)
	}
	return nil
}

// unreadable returns the error for a body that is not what it should be: a refusal in other words, or a part of it.
func unreadable(resp *http.Response, body []byte) *llm.Error {
	refused := llm.Refused(resp.StatusCode, resp.Header, body)
	if refused.Kind == llm.KindOverloaded && !json.Valid(body) {
		return llm.Truncated(fmt.Errorf("not JSON: %s", refused.Message))
	}
	return refused
}

// firstByte skips at most limit bytes of white space and returns the byte after it without consuming it.
func firstByte(reader *bufio.Reader, limit int) (byte, error) {
	for range limit {
		next, err := reader.ReadByte()
		if err != nil {
			return 0, err
		}
		if !strings.ContainsRune(" \t\r\n", rune(next)) {
			return next, reader.UnreadByte()
		}
	}
	return 0, bufio.ErrTooLong
}
