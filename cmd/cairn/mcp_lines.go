// The input lines of an MCP client. An invalid line gets an error response, and the session
// continues.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"cairn/terminal"
)

// maxLine is the limit for one line, in bytes.
const maxLine = 8 << 20

// messageLines passes on the lines of a client that are JSON-RPC messages. It answers every other
// line with an error: the SDK would end the session at the first line that it cannot parse.
type messageLines struct {
	lines  *bufio.Reader
	answer io.Writer
	rest   []byte // of the current line
}

func newMessageLines(from io.Reader, answer io.Writer) *messageLines {
	return &messageLines{lines: bufio.NewReaderSize(from, 64<<10), answer: answer}
}

func (l *messageLines) Close() error { return nil }

func (l *messageLines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, tooLong, err := terminal.ReadLine(l.lines, maxLine)
		line = bytes.TrimSpace(line)
		switch wrong := problemOf(line, tooLong); {
		case wrong != nil:
			if err := l.refuse(line, wrong); err != nil {
				return 0, err
			}
		case len(line) > 0:
			l.rest = append(line, '\n')
		}
		if err != nil && len(l.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// problemOf returns why a line is not a message; nil if it is one, or is empty.
func problemOf(line []byte, tooLong bool) *jsonrpc.Error {
	switch {
	case tooLong:
		return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: fmt.Sprintf("the line is longer than %d bytes", maxLine)}
	case len(line) == 0:
		return nil
	case !json.Valid(line):
		return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the line is not valid JSON: send one message a line"}
	case line[0] == '[':
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "batches are not supported: send one message a line"}
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("not a JSON-RPC 2.0 message: %v", err)}
	}
	return nil
}

// refuse answers a line with an error, with the line's id if it has one, because the client may
// wait for the answer.
func (l *messageLines) refuse(line []byte, wrong *jsonrpc.Error) error {
	var of struct {
		ID any `json:"id"`
	}
	_ = json.Unmarshal(line, &of) // an invalid line has no id
	switch of.ID.(type) {
	case string, float64:
	default:
		of.ID = nil
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": of.ID, "error": wrong})
	if err == nil {
		_, err = l.answer.Write(append(text, '\n'))
	}
	return err
}

// lineWriter serializes writes of whole lines. Closing it does not close the underlying writer.
type lineWriter struct {
	mu sync.Mutex // guards to
	to io.Writer
}

func (w *lineWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(line)
}

func (w *lineWriter) Close() error { return nil }
