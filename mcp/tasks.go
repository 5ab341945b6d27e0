// Tools that run only as tasks of the protocol are not offered. The SDK (v1.8.0) does not decode the field that says so,
// therefore it is read from what a server sends.

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// taskTools knows which of a server's allowed tools run only as tasks. For execution.taskSupport "required", "clients
// MUST invoke the tool as a task. Servers MUST return a -32601 (Method not found) error if a client does not attempt to
// do so" (https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks, Tool-Level Negotiation).
type taskTools struct {
	mu    sync.Mutex      // guards names
	names map[string]bool // by the names on the server
}

func (t *taskTools) has(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.names[name]
}

// note reads the result of any request. A list of tools replaces what is known of those in it.
func (t *taskTools) note(result []byte, allow []string) {
	if !bytes.Contains(result, []byte(`"tools"`)) {
		return
	}
	var list struct {
		Tools []struct {
			Name      string
			Execution struct{ TaskSupport string }
		}
	}
	err := json.Unmarshal(result, &list)
	if err != nil { // the SDK reports what is wrong with an answer
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tool := range list.Tools {
		delete(t.names, tool.Name)
		if tool.Execution.TaskSupport != "required" || !slices.Contains(allow, tool.Name) {
			continue
		}
		if t.names == nil {
			t.names = map[string]bool{}
		}
		t.names[tool.Name] = true
	}
}

// notingTransport gives note the results that arrive over a connection to a program. A connection over HTTP cannot be
// wrapped so: the SDK gives it the session's state by a method that is not exported.
type notingTransport struct {
	sdk.Transport
	note func(result []byte)
}

func (t notingTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	inner, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return notingConnection{inner, t.note}, nil
}

type notingConnection struct {
	sdk.Connection
	note func(result []byte)
}

func (c notingConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	response, ok := message.(*jsonrpc.Response)
	if ok && err == nil {
		c.note(response.Result)
	}
	return message, err
}

// notingBody gives note the results in the body of an HTTP response before the SDK has read them: one in a line of each
// event, or one in the full body.
type notingBody struct {
	io.ReadCloser
	events bool
	note   func(result []byte)
	kept   []byte // the beginning of a message
}

func (b *notingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	chunk := p[:n]
	for b.events {
		line, rest, complete := bytes.Cut(chunk, []byte("\n"))
		if !complete {
			break
		}
		b.kept = append(b.kept, line...)
		b.noteKept()
		chunk = rest
	}
	b.kept = append(b.kept, chunk...)
	if err != nil {
		b.noteKept()
	}
	if len(b.kept) > maxAnswer { // the SDK does not read such a message, either
		b.kept = nil
	}
	return n, err
}

func (b *notingBody) noteKept() {
	var message struct{ Result json.RawMessage }
	err := json.Unmarshal(bytes.TrimPrefix(b.kept, []byte("data:")), &message)
	if err == nil {
		b.note(message.Result)
	}
	b.kept = b.kept[:0]
}
