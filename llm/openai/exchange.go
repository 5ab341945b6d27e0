// One request and its answer on the wire, between go-openai and the network:
// mends the request's JSON, and hands on only answers the library can read.

package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"cairn/llm"
)

// maxRefusal bounds what is read of a server's refusal, in bytes.
const maxRefusal = 1 << 20

// exchange is the library's HTTP client for one request.
type exchange struct {
	client    *http.Client
	composed  composed
	maxAnswer int // bytes
	silence   *llm.Silence
}

// Do sends the mended request. What is not an answer comes back as an *Error.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	body, err := x.mend(req.Body)
	if err != nil {
		return nil, &llm.Error{Kind: llm.KindBadRequest, Message: err.Error(), Err: err}
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = int64(len(body))

	resp, err := x.client.Do(req)
	if err != nil {
		return nil, &llm.Error{Kind: llm.KindUnreachable, Message: err.Error(), Err: err}
	}
	if err := llm.Redirected(resp); err != nil {
		_ = resp.Body.Close() // its body does not matter
		return nil, err
	}
	watched := x.silence.Body(resp.Body)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer func() { _ = resp.Body.Close() }() // it is refused already
		// As much as came is judged; a refusal that breaks off is still one.
		text, _ := io.ReadAll(io.LimitReader(watched, maxRefusal))
		return nil, llm.Refused(resp.StatusCode, resp.Header, text)
	}
	if err := x.readable(resp, watched); err != nil {
		_ = resp.Body.Close() // err says what is wrong with it
		return nil, err
	}
	return resp, nil
}

// mend lays over the library's JSON what it leaves out.
func (x *exchange) mend(from io.ReadCloser) ([]byte, error) {
	defer func() { _ = from.Close() }() // a buffer in memory
	var body map[string]json.RawMessage
	if err := json.NewDecoder(from).Decode(&body); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	var messages []map[string]json.RawMessage
	if err := json.Unmarshal(body["messages"], &messages); err != nil {
		return nil, fmt.Errorf("read the messages: %w", err)
	}
	for i, message := range messages {
		if _, ok := message["content"]; !ok {
			message["content"] = json.RawMessage(`""`) // some servers refuse a message without it
		}
		if err := x.composed.native[i].giveBack(message); err != nil {
			return nil, fmt.Errorf("give back what the provider added: %w", err)
		}
	}
	var err error
	if body["messages"], err = json.Marshal(messages); err != nil {
		return nil, fmt.Errorf("write the messages: %w", err)
	}
	for field, value := range x.composed.fields {
		if body[field], err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("write %s: %w", field, err)
		}
	}
	return json.Marshal(body)
}

// readable sets resp.Body to a stream the library can read. An answer in one piece
// becomes a stream of one chunk; what is no answer is returned as an *Error.
func (x *exchange) readable(resp *http.Response, body io.ReadCloser) error {
	reader := bufio.NewReader(body)
	first, err := firstByte(reader, x.maxAnswer)
	if errors.Is(err, bufio.ErrTooLong) {
		return llm.TooLong(x.maxAnswer)
	}
	if err == nil && (first == '{' || first == '[' || first == '<') {
		whole, err := io.ReadAll(io.LimitReader(reader, int64(x.maxAnswer)+1))
		if err != nil {
			return llm.Truncated(err)
		}
		if len(whole) > x.maxAnswer {
			return llm.TooLong(x.maxAnswer)
		}
		chunk, err := chunkOf(whole, resp)
		if err != nil {
			return err
		}
		reader = bufio.NewReader(io.MultiReader(
			strings.NewReader("data: "), bytes.NewReader(chunk), strings.NewReader("\ndata: [DONE]\n")))
	}
	// An error of firstByte comes again when the events are read.
	resp.Body = newEvents(reader, body, x.maxAnswer)
	return nil
}

// firstByte looks past so many bytes of white space at most, without taking what it finds.
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

// chunkOf turns a chat.completion into the one chunk of a stream. A server that
// answers 200 with anything else has refused.
func chunkOf(whole []byte, resp *http.Response) ([]byte, error) {
	if llm.Crowded(whole) {
		return nil, llm.TooMany(llm.MaxParts, "parts")
	}
	var completion map[string]json.RawMessage
	var choices []map[string]json.RawMessage
	if json.Unmarshal(whole, &completion) != nil || json.Unmarshal(completion["choices"], &choices) != nil {
		return nil, llm.Refused(resp.StatusCode, resp.Header, whole)
	}
	for _, choice := range choices {
		choice["delta"] = choice["message"]
		delete(choice, "message")
	}
	var err error
	if completion["choices"], err = json.Marshal(choices); err != nil {
		return nil, llm.Truncated(err)
	}
	chunk, err := json.Marshal(completion)
	if err != nil {
		return nil, llm.Truncated(err)
	}
	return chunk, nil
}
