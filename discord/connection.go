// One connection to the gateway: the handshake, heartbeats and events (Discord, Gateway).

package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	opHello          = 10
	opHeartbeatAck   = 11
)

// errInvalid is why a connection ends whose session cannot be resumed.
var errInvalid = errors.New("the gateway called the session invalid")

// run handles the gateway's messages until the connection or ctx ends, and returns the reason.
func (s *session) run(ctx context.Context, ws *platform.Socket) error {
	defer ws.Close() // without a close frame, so the session can be resumed
	s.ws, s.beat = ws, time.NewTicker(time.Hour)
	defer s.beat.Stop()
	s.beat.Stop() // until the session is established
	for {
		select {
		case <-ctx.Done():
			ws.Goodbye() // so that people see the bot go offline immediately
			return ctx.Err()
		case <-s.beat.C:
			if s.unacknowledged { // although something may still arrive (Discord, Gateway: Heartbeat ACK Event)
				return errors.New("the gateway did not acknowledge the last heartbeat")
			}
			s.unacknowledged = true
			if err := s.heartbeat(); err != nil {
				return err
			}
		case data, ok := <-ws.Messages:
			if !ok {
				return fmt.Errorf("the connection to the gateway ended: %w", ws.Err())
			}
			var p packet
			if decode(data, &p) != nil {
				continue
			}
			if err := s.receive(p); err != nil {
				return err
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

// receive handles a packet. After an error the connection has to end.
func (s *session) receive(p packet) error {
	switch p.Op {
	case opHello:
		return s.hello(p.Data)
	case opDispatch:
		before := s.established
		if err := s.event(p.Name, p.Sequence, p.Data); err != nil {
			return err
		}
		if s.established && !before && s.interval > 0 {
			s.ws.Expect(s.interval * 3 / 2) // a dead connection is noticed early, so that it can be resumed
			s.beat.Reset(s.interval)
			return s.heartbeat()
		}
	case opHeartbeat:
		return s.heartbeat()
	case opHeartbeatAck:
		s.unacknowledged = false
	case opReconnect:
		return errors.New("the gateway asked to reconnect")
	case opInvalidSession:
		if string(p.Data) == "true" {
			return errors.New("the gateway asked to resume the session")
		}
		return errInvalid
	}
	return nil
}

// hello answers the first packet with IDENTIFY or RESUME.
func (s *session) hello(data json.RawMessage) error {
	hello := read[struct {
		Interval float64 `json:"heartbeat_interval"` // ms
	}](data)
	if hello.Interval < 1 {
		return errors.New("the gateway's HELLO has no heartbeat interval")
	}
	s.interval = time.Duration(hello.Interval * float64(time.Millisecond))
	s.identified = time.Now()
	if s.id != "" {
		return s.send(opResume, map[string]any{"token": s.token, "session_id": s.id, "seq": s.sequence})
	}
	return s.send(opIdentify, map[string]any{
		"token": s.token, "intents": s.intents,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "cairn", "device": "cairn"},
	})
}

func (s *session) heartbeat() error { return s.send(opHeartbeat, s.sequence) }

func (s *session) send(op int, data any) error {
	return s.ws.Write(map[string]any{"op": op, "d": data})
}
