// The server-sent events of an answer, read strictly: every premature end is an error.

package provider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"cairn/llm"
)

// streamPerAnswer is the maximum ratio of a stream's size to its answer's: each token is wrapped in
// some hundred bytes.
const streamPerAnswer = 64

// events reads the events of a response body. Each is one JSON value.
type events struct {
	lines     *bufio.Scanner
	maxAnswer int    // bytes
	taken     int    // bytes read so far
	data      []byte // data lines that are not yet complete JSON
	failed    bool   // the current event is named error
	done      bool   // [DONE] was received
}

func newEvents(reader io.Reader, maxAnswer int) *events {
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, maxAnswer)
	return &events{lines: lines, maxAnswer: maxAnswer}
}

// next returns the next event, valid until the next call; io.EOF at the end of the
// stream. An error of the server in the stream is an *llm.Error.
func (e *events) next() ([]byte, error) {
	for !e.done {
		if !e.lines.Scan() {
			return nil, e.end(e.lines.Err())
		}
		line := bytes.TrimRight(e.lines.Bytes(), "\r")
		if e.taken += len(line) + 1; e.taken > streamPerAnswer*e.maxAnswer {
			return nil, llm.TooLong(e.taken)
		}
		event, err := e.line(line)
		if event != nil || err != nil {
			return event, err
		}
	}
	return nil, io.EOF
}

// line returns the event that line completes, nil if none.
func (e *events) line(line []byte) ([]byte, error) {
	if len(line) == 0 {
		event, err := e.flush()
		e.failed = false
		return event, err
	}
	if line[0] == '{' { // some servers send an error without any framing
		return e.take(line)
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch string(field) {
	case "data":
		return e.take(value)
	case "error":
		return nil, llm.Refused(0, nil, value)
	case "event":
		e.failed = string(value) == "error"
	}
	return nil, nil // a comment that keeps the connection alive, or an irrelevant field
}

// take handles a line of data. A line of complete JSON does not wait for the empty line that ends
// its event: not every server sends one.
func (e *events) take(line []byte) ([]byte, error) {
	switch {
	case string(line) == "[DONE]":
		e.done = true
	case len(e.data) == 0 && json.Valid(line):
		return e.event(line)
	case len(e.data)+len(line) > e.maxAnswer:
		return nil, llm.TooLong(e.maxAnswer)
	case len(line) > 0:
		e.data = append(append(e.data, line...), '\n')
	}
	return nil, nil
}

// flush ends an event of several lines.
func (e *events) flush() ([]byte, error) {
	data := e.data
	e.data = nil
	switch {
	case len(data) == 0:
		return nil, nil
	case !json.Valid(data):
		return nil, llm.Truncated(fmt.Errorf("not JSON: %s", llm.Clip(string(data))))
	}
	return e.event(data)
}

// event makes the checks that are the same on all wires.
func (e *events) event(data []byte) ([]byte, error) {
	if llm.Crowded(data) {
		return nil, llm.TooMany(llm.MaxParts, "parts")
	}
	if e.failed {
		return nil, llm.Refused(0, nil, data)
	}
	if !utf8.Valid(data) { // otherwise fields that are sent back unchanged would stay invalid
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	return data, nil
}

// end returns the error for a body that ended without [DONE].
func (e *events) end(err error) error {
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return llm.TooLong(e.maxAnswer)
	case err != nil:
		return llm.Truncated(err)
	case len(e.data) > 0:
		return llm.Truncated(io.ErrUnexpectedEOF)
	}
	return io.EOF
}

// IsError reports whether the error field of an answer contains an error.
func IsError(field json.RawMessage) bool {
	switch string(field) {
	case "", "null", "false", `""`, "{}":
		return false
	}
	return true
}
