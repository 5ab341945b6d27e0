// One connection to the gateway: the handshake, heartbeats and events (Discord, Gateway).

package discord

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Opcodes of the gateway (Discord, Opcodes and Status Codes: Gateway Opcodes).
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11
)

var errSilent = errors.New("no message from the gateway in time")

const (
	grace        = time.Second // for messages that are late because this process was, and for the goodbye
	writeTimeout = 10 * time.Second
)

// connection is one WebSocket to the gateway. One goroutine reads, which also sends IDENTIFY or
// RESUME; after that, another one writes.
type connection struct {
	session  *session
	ws       *websocket.Conn
	deadline time.Time     // when the gateway will have been silent for too long
	interval time.Duration // of heartbeats; 0: HELLO did not come

	beating  bool               // the session is established, so heartbeats are sent
	start    chan time.Duration // gets the interval when heartbeats begin
	asked    chan struct{}      // has one when the gateway asked for a heartbeat
	finished chan struct{}      // closed when nothing more is read
}

// run reads until the connection ends, or ctx.
func (c *connection) run(ctx context.Context) ending {
	var writing sync.WaitGroup
	writing.Go(func() { c.write(ctx) })
	defer func() {
		_ = c.ws.Close() // without a goodbye the session can be resumed
		close(c.finished)
		writing.Wait()
	}()
	for {
		if err := c.extend(); err != nil {
			return ending{err: err}
		}
		_, data, err := c.ws.ReadMessage()
		if err != nil {
			return endingOf(err)
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

// extend sets the time by which the next message must come. What has arrived while this process
// was late does not count as silence.
func (c *connection) extend() error {
	left := time.Until(c.deadline)
	if left < -grace {
		return errSilent
	}
	return c.ws.SetReadDeadline(time.Now().Add(max(left, grace)))
}

// packet is a message of the gateway.
type packet struct {
	Op       int             `json:"op"`
	Data     json.RawMessage `json:"d"`
	Sequence int64           `json:"s"`
	Name     string          `json:"t"`
}

// receive does what a packet asks for. The result is not empty if the connection has to end.
func (c *connection) receive(p packet) ending {
	switch p.Op {
	case opHello:
		return ending{err: c.hello(p.Data)}
	case opDispatch:
		if err := c.session.event(p.Name, p.Sequence, p.Data); err != nil {
			return ending{err: err}
		}
		if c.session.established && !c.beating && c.interval > 0 {
			c.beating = true
			c.alive()
			c.start <- c.interval
		}
	case opHeartbeat:
		if c.interval > 0 { // else IDENTIFY comes first
			select {
			case c.asked <- struct{}{}:
			default: // one is about to be sent
			}
		}
	case opHeartbeatAck:
		if c.beating {
			c.alive()
		}
	case opReconnect:
		return ending{err: errors.New("the gateway asked to reconnect")}
	case opInvalidSession:
		return ending{gone: string(p.Data) != "true", err: errors.New("the gateway called the session invalid")}
	}
	return ending{}
}

func (c *connection) alive() { c.deadline = time.Now().Add(c.interval * 3 / 2) }

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
		return c.send(opResume, map[string]any{"token": s.token, "session_id": s.id, "seq": s.sequence.Load()})
	}
	return c.send(opIdentify, map[string]any{
		"token": s.token, "intents": s.intents,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "cairn", "device": "cairn"},
	})
}

// write sends heartbeats once the session is established. When ctx ends it says goodbye, so that
// people see the bot go offline at once, and closes the connection.
func (c *connection) write(ctx context.Context) {
	ticker := time.NewTicker(time.Hour) // reset before it fires
	defer ticker.Stop()
	for {
		select {
		case <-c.finished:
			return
		case <-ctx.Done():
			_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(grace))
			_ = c.ws.Close() // a connection that is dead already takes no goodbye
			return
		case interval := <-c.start:
			ticker.Reset(interval)
		case <-ticker.C:
		case <-c.asked:
		}
		if c.send(opHeartbeat, c.session.sequence.Load()) != nil {
			_ = c.ws.Close() // which ends the reading too
			return
		}
	}
}

func (c *connection) send(op int, data any) error {
	_ = c.ws.SetWriteDeadline(time.Now().Add(writeTimeout)) // never fails
	return c.ws.WriteJSON(map[string]any{"op": op, "d": data})
}
