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

// streamPerAnswer is the maximum ratio of a stream's size to its answer's: each token is wrapped in some hundred bytes.
const streamPerAnswer = 64

// events reads the events of a response body. Each is one JSON value.
type events struct {
	lines     *bufio.Scanner
	maxLine   int    // bytes of a line, and of the data of an event
	maxStream int    // bytes in all
	taken     int    // bytes read so far
	idle      int    // lines since the last event
	data      []byte // data lines that are not yet complete JSON
	failed    bool   // the current event is named error
	done      bool   // [DONE] was received
}

func newEvents(reader io.Reader, l limits) *events {
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, l.all.max)
	kept := min(l.maxText+l.calls.max+l.reasoning.max, l.all.max)
	return &events{lines: lines, maxLine: l.all.max, maxStream: streamPerAnswer * kept}
}

// next returns the next event, valid until the next call, or a server's error in the stream; io.EOF at its end.
func (e *events) next() ([]byte, error) {
	for !e.done && e.lines.Scan() {
		line := bytes.TrimRight(e.lines.Bytes(), "\r")
		if err := e.count(line); err != nil {
			return nil, err
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case len(line) == 0: // ends an event of several lines
			data := e.data
			failed := e.failed
			e.data = nil
			e.failed = false
			if len(data) == 0 {
				continue
			}
			if !json.Valid(data) {
				return nil, llm.Truncated(fmt.Errorf("not JSON: %s", llm.Clip(string(data))))
			}
			return e.checked(data, failed)
		case line[0] == '{': // some servers send an error without any framing
			value = line
		case string(field) == "error":
			return nil, llm.Refused(0, nil, value)
		case string(field) == "event":
			e.failed = string(value) == "error"
			continue
		case string(field) != "data": // a comment that keeps the connection alive, or an irrelevant field
			continue
		}
		switch {
		case string(value) == "[DONE]":
			e.done = true
		case len(e.data) == 0 && json.Valid(value): // not every server sends the empty line
			return e.checked(value, e.failed)
		case len(e.data)+len(value) > e.maxLine:
			return nil, llm.TooLong(e.maxLine, "bytes")
		case len(value) > 0:
			e.data = append(append(e.data, value...), '\n')
		}
	}
	return nil, e.end()
}

// count counts a line, and fails if the stream is too long.
func (e *events) count(line []byte) error {
	e.taken += len(line) + 1
	e.idle++
	switch {
	case e.taken > e.maxStream:
		return llm.TooLong(e.maxStream, "bytes of events")
	case e.idle > maxEmpty:
		return llm.TooLong(maxEmpty, "lines without an event")
	}
	return nil
}

// end returns why there is no further line: io.EOF if the stream is complete.
func (e *events) end() error {
	switch err := e.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return llm.TooLong(e.maxLine, "bytes")
	case err != nil:
		return llm.Truncated(err)
	case !e.done && len(e.data) > 0:
		return llm.Truncated(io.ErrUnexpectedEOF)
	}
	return io.EOF
}

// checked makes the checks that are the same on all wires. failed: the event is named error.
func (e *events) checked(data []byte, failed bool) ([]byte, error) {
	e.idle = 0
	switch {
	case crowded(data):
		return nil, llm.TooLong(maxParts, "parts")
	case failed:
		return nil, llm.Refused(0, nil, data)
	case !utf8.Valid(data): // otherwise fields that are sent back unchanged would stay invalid
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	return data, nil
}

// maxParts limits the elements of lists in one event: decoded, an empty one takes a hundred times its bytes.
const maxParts = 50_000

// crowded reports whether JSON may have more elements than maxParts. Commas in its texts count, too: an answer that is
// no nonsense has fewer.
func crowded(json []byte) bool { return bytes.Count(json, []byte(",")) > maxParts }

// Filled reports whether a field of an answer has a value.
func Filled(field json.RawMessage) bool {
	switch string(field) {
	case "", "null", "false", `""`, "{}":
		return false
	}
	return true
}
