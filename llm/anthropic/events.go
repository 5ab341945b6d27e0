// The server-sent events of an answer.

package anthropic

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
// token is wrapped in some hundred bytes.
const streamPerAnswer = 64

// events reads a stream. The answer is whole only when message_stop came.
type events struct {
	lines   *bufio.Scanner
	most    int    // bytes of an event
	read    int    // bytes of the stream so far
	data    []byte // data lines that are no whole JSON value yet
	failure bool   // the running event is named error
}

func newEvents(reader io.Reader, most int) *events {
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, most)
	return &events{lines: lines, most: most}
}

// next returns the JSON of the next event. The end of the stream is an error: the
// caller stops at message_stop.
func (e *events) next() ([]byte, error) {
	for e.lines.Scan() {
		line := bytes.TrimRight(e.lines.Bytes(), "\r")
		if e.read += len(line) + 1; e.read > streamPerAnswer*e.most {
			return nil, llm.TooLong(e.read)
		}
		data, err := e.take(line)
		if err != nil || data != nil {
			return data, err
		}
	}
	switch err := e.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, llm.TooLong(e.most)
	case err != nil:
		return nil, llm.Truncated(err)
	}
	return nil, llm.Truncated(io.ErrUnexpectedEOF)
}

// take handles one line. It returns the event's data if the line completes it.
func (e *events) take(line []byte) ([]byte, error) {
	if len(line) == 0 {
		data := e.data
		e.data = nil
		if len(data) > 0 && !json.Valid(data) {
			return nil, llm.Truncated(fmt.Errorf("not JSON: %s", llm.Clip(string(data))))
		}
		data, err := e.check(data)
		e.failure = false
		return data, err
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	if line[0] == '{' { // some servers put an error into the stream as it is
		field, value = []byte("data"), line
	}
	value = bytes.TrimSpace(value)
	switch string(field) {
	case "event":
		e.failure = string(value) == "error"
	case "error":
		return nil, llm.Refused(0, nil, value)
	case "data":
		switch {
		case len(value) == 0:
		case len(e.data) == 0 && json.Valid(value): // not every server sends the empty line behind an event
			return e.check(value)
		case len(e.data)+len(value) > e.most:
			return nil, llm.TooLong(e.most)
		default:
			e.data = append(append(e.data, value...), '\n')
		}
	}
	return nil, nil // a comment, or a field without meaning here
}

// check refuses an event that is an error or too large to decode.
func (e *events) check(data []byte) ([]byte, error) {
	switch {
	case len(data) == 0:
		return nil, nil
	case llm.Crowded(data):
		return nil, llm.TooMany(llm.MaxParts, "parts")
	case e.failure:
		return nil, llm.Refused(0, nil, data)
	}
	return bytes.ToValidUTF8(data, []byte("\uFFFD")), nil
}
