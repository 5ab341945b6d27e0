// The end of an MCP client's input: pending calls are still answered.
package main

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// drainTimeout is how long the end of the input waits for answers.
const drainTimeout = 30 * time.Second

// drainTransport is a transport whose input ends once every call is answered, or after
// drainTimeout. The SDK drops answers after the end of the input, so `printf … | cairn mcp` would
// print none.
type drainTransport struct{ sdk.Transport }

func (t drainTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &drainConn{Connection: c, open: make(map[jsonrpc.ID]bool), answered: make(chan struct{}, 1)}, err
}

type drainConn struct {
	sdk.Connection
	answered chan struct{} // capacity 1: signals that open has changed

	mu   sync.Mutex // guards open
	open map[jsonrpc.ID]bool
}

func (c *drainConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.mu.Lock()
		c.open[r.ID] = true
		c.mu.Unlock()
	}
	if errors.Is(err, io.EOF) {
		c.waitAnswered(ctx)
	}
	return m, err
}

func (c *drainConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
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

func (c *drainConn) waitAnswered(ctx context.Context) {
	limit := time.NewTimer(drainTimeout)
	defer limit.Stop()
	for {
		c.mu.Lock()
		open := len(c.open)
		c.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-c.answered:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
