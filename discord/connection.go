// One connection to the gateway: the handshake, heartbeats and events (Discord, Gateway).

package discord

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"time"

	"cairn/internal/platform"
)

// Opcodes of the gateway (Discord, Opcodes and Status Codes: Gateway Opcodes).
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10 // 11, the answer to a heartbeat, needs no handling
)

// connection is one WebSocket to the gateway. Only the goroutine in run uses it.
type connection struct {
	session  *session
	ws       *platform.Socket
	interval time.Duration // between heartbeats; 0 until HELLO arrives

	established bool         // so heartbeats are sent
	beat        *time.Ticker // when to send a heartbeat
}

func newConnection(s *session, ws *platform.Socket) *connection {
	c := &connection{session: s, ws: ws, beat: time.NewTicker(time.Hour)}
	c.beat.Stop() // until the session is established
	return c
}

// run handles the gateway's messages until the connection or ctx ends.
func (c *connection) run(ctx context.Context) ending {
	defer c.ws.Close() // without a close frame, so the session can be resumed
	defer c.beat.Stop()
	for {
		select {
		case <-ctx.Done():
			c.ws.Goodbye() // so that people see the bot go offline at once
			return ending{err: ctx.Err()}
		case <-c.beat.C:
			if err := c.heartbeat(); err != nil {
				return ending{err: err}
			}
		case data, ok := <-c.ws.Messages:
			if !ok {
				return endingOf(c.ws.Err())
			}
			var p packet
			if decode(data, &p) != nil {
				continue
			}
			if e := c.receive(p); e != (ending{}) {
				return e
			}
		}
	}
}

// packet is a message from the gateway.
type packet struct {
	Op       int             `json:"op"`
	Data     json.RawMessage `json:"d"`
	Sequence int64           `json:"s"`
	Name     string          `json:"t"`
}

// receive handles a packet. The result is not empty if the connection has to end.
func (c *connection) receive(p packet) ending {
	switch p.Op {
	case opHello:
		return ending{err: c.hello(p.Data)}
	case opDispatch:
		if err := c.session.event(p.Name, p.Sequence, p.Data); err != nil {
			return ending{err: err}
		}
		if c.session.established && !c.established && c.interval > 0 {
			c.established = true
			c.ws.Expect(c.interval * 3 / 2) // a dead connection is noticed early, so that it can be resumed
			c.beat.Reset(c.interval)
			return ending{err: c.heartbeat()}
		}
	case opHeartbeat:
		if c.interval > 0 { // otherwise IDENTIFY must be sent first
			return ending{err: c.heartbeat()}
		}
	case opReconnect:
		return ending{err: errors.New("the gateway asked to reconnect")}
	case opInvalidSession:
		return ending{invalid: string(p.Data) != "true", err: errors.New("the gateway called the session invalid")}
	}
	return ending{}
}

// hello answers the first packet with IDENTIFY or RESUME.
func (c *connection) hello(data json.RawMessage) error {
	if c.interval > 0 {
		return nil
	}
	hello := read[struct {
		Interval float64 `json:"heartbeat_interval"` // ms
	}](data)
	if hello.Interval < 1 {
		return errors.New("the gateway's HELLO has no heartbeat interval")
	}
	c.interval = time.Duration(hello.Interval * float64(time.Millisecond))
	s := c.session
	s.identified = time.Now()
	if s.id != "" {
		return c.send(opResume, map[string]any{"token": s.token, "session_id": s.id, "seq": s.sequence})
	}
	return c.send(opIdentify, map[string]any{
		"token": s.token, "intents": s.intents,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "cairn", "device": "cairn"},
	})
}

func (c *connection) heartbeat() error { return c.send(opHeartbeat, c.session.sequence) }

func (c *connection) send(op int, data any) error {
	return c.ws.Write(map[string]any{"op": op, "d": data})
}
