// The connection to an MCP client over standard input and output. The SDK's own ends the session at
// the first line that it cannot parse, and drops answers after the end of the input, so that
// `printf … | cairn mcp` would print none.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/terminal"
)

// drainTimeout is how long the end of the input waits for answers.
const drainTimeout = 30 * time.Second

// stdioConn answers a line that is no message with an error, and the session continues. The input
// ends once every call is answered, or after drainTimeout.
type stdioConn struct {
	next     func() (terminal.Line, bool)
	end      context.CancelFunc
	answered chan struct{} // capacity 1: signals that open has changed

	writing sync.Mutex // guards out: a client that reads slowly must not keep its next line from being read
	out     io.Writer

	mu   sync.Mutex          // guards open
	open map[jsonrpc.ID]bool // calls without an answer
}

var (
	_ sdk.Transport  = (*stdioConn)(nil)
	_ sdk.Connection = (*stdioConn)(nil)
)

func newStdioConn(ctx context.Context, in io.Reader, out io.Writer) *stdioConn {
	ctx, end := context.WithCancel(ctx)
	next, _ := iter.Pull(terminal.Lines(ctx, in)) // end stops it
	return &stdioConn{next: next, end: end, answered: make(chan struct{}, 1), out: out, open: map[jsonrpc.ID]bool{}}
}

// Connect returns the connection.
func (c *stdioConn) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID returns "": there is one session.
func (c *stdioConn) SessionID() string { return "" }

// Close ends a pending Read. It leaves the streams open.
func (c *stdioConn) Close() error {
	c.end()
	return nil
}

// Read returns the client's next message.
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		line, more := c.next()
		if !more {
			c.waitAnswered(ctx)
			return nil, io.EOF
		}
		if line.Err != nil && line.Err != terminal.ErrTooLong {
			return nil, line.Err
		}
		m, wrong := messageOf(line)
		if wrong != nil {
			if err := c.refuse(line.Text, wrong); err != nil {
				return nil, err
			}
		}
		if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
			c.mu.Lock()
			c.open[r.ID] = true
			c.mu.Unlock()
		}
		if m != nil {
			return m, nil
		}
	}
}

// messageOf returns the message in a line, or why it is not one. An empty line is neither.
func messageOf(line terminal.Line) (jsonrpc.Message, *jsonrpc.Error) {
	text := []byte(strings.TrimSpace(line.Text))
	switch {
	case line.Err != nil:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: line.Err.Error()}
	case len(text) == 0:
		return nil, nil
	case !json.Valid(text):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the line is not valid JSON: send one message a line"}
	case text[0] == '[':
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "batches are not supported: send one message a line"}
	}
	m, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("not a JSON-RPC 2.0 message: %v", err)}
	}
	return m, nil
}

// refuse answers a line with an error, with the line's id if it has one, because the client may
// wait for the answer.
func (c *stdioConn) refuse(line string, wrong *jsonrpc.Error) error {
	var of struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal([]byte(line), &of)                                  // an invalid line has no id
	if id := string(of.ID); id == "" || strings.Contains("{[tf", id[:1]) { // only texts and numbers are ids
		of.ID = nil
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": of.ID, "error": wrong})
	if err != nil {
		return err
	}
	return c.write(text)
}

// Write sends a message.
func (c *stdioConn) Write(_ context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	err = c.write(text)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, r.ID)
		c.mu.Unlock()
		select {
		case c.answered <- struct{}{}:
		default: // a signal is already pending
		}
	}
	return err
}

func (c *stdioConn) write(text []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(text, '\n'))
	return err
}

func (c *stdioConn) waitAnswered(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	for {
		c.mu.Lock()
		open := len(c.open)
		c.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-c.answered:
		case <-ctx.Done():
			return
		}
	}
}
