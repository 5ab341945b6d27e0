// The end of an MCP client's input: earlier calls are still answered.
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

// lastAnswers is how long the end of the input waits for answers.
const lastAnswers = 30 * time.Second

// answersAll is a transport whose input ends once every call has its answer, or after lastAnswers.
// The SDK drops answers after the end, so `printf … | cairn mcp` would print none.
type answersAll struct{ sdk.Transport }

func (t answersAll) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &answeredConn{Connection: c, open: make(map[jsonrpc.ID]bool), answered: make(chan struct{}, 1)}, err
}

type answeredConn struct {
	sdk.Connection
	answered chan struct{} // buffered, capacity 1: "look at open"

	mu   sync.Mutex // guards open
	open map[jsonrpc.ID]bool
}

func (c *answeredConn) Read(ctx context.Context) (jsonrpc.Message, error) {
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

func (c *answeredConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, r.ID)
		c.mu.Unlock()
		select {
		case c.answered <- struct{}{}:
		default: // the waiting Read looks anyway
		}
	}
	return err
}

func (c *answeredConn) waitAnswered(ctx context.Context) {
	limit := time.NewTimer(lastAnswers)
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
