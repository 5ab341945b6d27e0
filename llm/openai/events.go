// The server-sent events of an answer, strictly read and plainly written: what
// the library reads is one chunk a line, and every way to break off is an error.

package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"cairn/llm"
)

// streamPerAnswer is how much longer a stream may be than the answer in it: each
// token comes wrapped in some hundred bytes.
const streamPerAnswer = 64

// events is a response body. An answer is whole when the server said [DONE], or
// when it gave a finish_reason and ended the body in good order: some servers
// never say [DONE], but none gives a reason to finish before it has finished.
type events struct {
	body      io.Closer
	lines     *bufio.Scanner
	maxAnswer int    // bytes
	taken     int    // bytes read so far
	data      []byte // data lines that are no whole JSON value yet
	failed    bool   // the running event is named error
	finished  bool   // a finish_reason came

	out []byte // for the library, not read yet
	err error  // what follows out
}

func newEvents(reader io.Reader, body io.Closer, maxAnswer int) *events {
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, maxAnswer)
	return &events{body: body, lines: lines, maxAnswer: maxAnswer}
}

func (e *events) Close() error { return e.body.Close() }

func (e *events) Read(p []byte) (int, error) {
	for len(e.out) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.err = e.next()
	}
	n := copy(p, e.out)
	e.out = e.out[n:]
	return n, nil
}

// next reads one line. io.EOF says that the answer is whole.
func (e *events) next() error {
	if !e.lines.Scan() {
		return e.end(e.lines.Err())
	}
	line := bytes.TrimRight(e.lines.Bytes(), "\r")
	if e.taken += len(line) + 1; e.taken > streamPerAnswer*e.maxAnswer {
		return llm.TooLong(e.taken)
	}
	if len(line) == 0 {
		err := e.flush()
		e.failed = false
		return err
	}
	if line[0] == '{' { // some servers put an error into the stream as it is
		return e.take(line)
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch string(field) {
	case "data":
		return e.take(value)
	case "error":
		return llm.Refused(0, nil, value)
	case "event":
		e.failed = string(value) == "error"
	}
	return nil // a comment that keeps the connection alive, or a field that says nothing
}

// take handles a line of data. A line that is whole JSON is not kept waiting for
// the empty line that ends its event: not every server sends one.
func (e *events) take(line []byte) error {
	switch {
	case string(line) == "[DONE]":
		e.out = []byte("data: [DONE]\n")
		return io.EOF
	case len(e.data) == 0 && json.Valid(line):
		return e.emit(line)
	case len(e.data)+len(line) > e.maxAnswer:
		return llm.TooLong(e.maxAnswer)
	case len(line) > 0:
		e.data = append(append(e.data, line...), '\n')
	}
	return nil
}

// flush ends an event that took several lines.
func (e *events) flush() error {
	data := e.data
	e.data = nil
	switch {
	case len(data) == 0:
		return nil
	case !json.Valid(data):
		return llm.Truncated(fmt.Errorf("not JSON: %s", llm.Clip(string(data))))
	}
	return e.emit(data)
}

// emit hands on a chunk, unless it is an error.
func (e *events) emit(chunk []byte) error {
	if llm.Crowded(chunk) {
		return llm.TooMany(llm.MaxParts, "parts")
	}
	var seen struct {
		Error   json.RawMessage
		Choices []struct {
			FinishReason string `json:"finish_reason"`
		}
	}
	// A field of an unexpected type is for the reader of the chunk to report.
	_ = json.Unmarshal(chunk, &seen)
	if e.failed || isError(seen.Error) {
		return llm.Refused(0, nil, chunk)
	}
	for _, choice := range seen.Choices {
		e.finished = e.finished || choice.FinishReason != ""
	}
	// What is no UTF-8 would stay such in the fields that are sent back as they came.
	var line bytes.Buffer
	if err := json.Compact(&line, bytes.ToValidUTF8(chunk, []byte("\uFFFD"))); err != nil {
		return llm.Truncated(err)
	}
	// The library takes a chunk that begins with {"error": for an error, even with
	// a null behind it; the space keeps it from looking.
	e.out = fmt.Appendf(nil, "data: %c %s\n", line.Bytes()[0], line.Bytes()[1:])
	return nil
}

// end judges a body that ended without [DONE].
func (e *events) end(err error) error {
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return llm.TooLong(e.maxAnswer)
	case err != nil:
		return llm.Truncated(err)
	case !e.finished || len(e.data) > 0:
		return llm.Truncated(io.ErrUnexpectedEOF)
	}
	e.out = []byte("data: [DONE]\n")
	return io.EOF
}

// isError reports whether the error field of an answer says anything.
func isError(field json.RawMessage) bool {
	switch string(field) {
	case "", "null", "false", `""`, "{}":
		return false
	}
	return true
}
