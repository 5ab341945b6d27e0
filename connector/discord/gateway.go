// A session with the gateway: the handshake, heartbeats and events (Discord, Gateway), and the state that it keeps from one
// connection to the next.

package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"cairn/connector/platform"
)

// session starts with IDENTIFY and is resumed on further connections as long as the gateway knows it. discordgo's deadlocks on
// op 7, hides close codes, and waits for HELLO and READY forever. Only one goroutine may use a session.
type session struct {
	token   string
	gateway string // address at which the session starts
	intents discordgo.Intent
	shard   *[2]int                                       // its id, and the number of all; nil: the bot has no other
	timeout time.Duration                                 // from the dial to READY or RESUMED
	handle  func(name string, data json.RawMessage) error // called with each event in order; the next one waits, and an error ends the connection
	await   func(what string)                             // called with what the gateway must send next, see platform.Link
	ready   func()                                        // called with READY or RESUMED
	note    func()                                        // called when the state below has changed; nil: nobody wants to know

	id            string // empty: the gateway does not know the session yet, or no longer
	sequence      int64  // of the last handled event
	resumeURL     string // address at which the session is resumed; empty: gateway
	failedResumes int    // consecutive connections that got past HELLO but were not established

	// Of the latest connection.
	ws          *platform.Socket
	interval    time.Duration // between heartbeats; 0 until HELLO arrives
	beat        *time.Ticker  // when to send a heartbeat
	established bool          // READY or RESUMED arrived
	identified  time.Time     // when IDENTIFY or RESUME was sent; zero: it was not
	pending     bool          // the last heartbeat was not acknowledged yet
}

const maxFailedResumes = 3 // in a row, on a gateway that responds, before the session is given up

// connect starts or resumes the session. It returns the reason when the connection or ctx has ended.
func (s *session) connect(ctx context.Context) error {
	s.interval = 0
	s.established = false
	s.identified = time.Time{}
	s.pending = false
	address := cmp.Or(s.resumeURL, s.gateway) + "?encoding=json&v=" + discordgo.APIVersion // Discord, Gateway: Connecting
	s.await("the WebSocket of the gateway")
	ws, err := platform.Dial(ctx, address, nil, s.timeout)
	if err != nil {
		err = fmt.Errorf("connect to the gateway: %w", err)
	} else {
		s.await("HELLO of the gateway")
		err = s.run(ctx, ws)
	}
	if ctx.Err() == nil {
		s.noteEnd(err)
	}
	return cmp.Or(context.Cause(ctx), err)
}

// noteEnd updates the session from the way its connection ended.
func (s *session) noteEnd(err error) {
	switch {
	case s.established:
	case !s.identified.IsZero():
		s.failedResumes++
	default: // the address from READY may not be reachable from this machine
		s.resumeURL = ""
	}
	code := closeCode(err)
	if code == 4007 || code == 4009 || errors.Is(err, errInvalid) || s.failedResumes >= maxFailedResumes {
		s.id = ""
		s.changed()
	}
}

func (s *session) changed() {
	if s.note != nil {
		s.note()
	}
}

// closeCode returns the code with which the gateway closed a connection; 0 if it did not.
func closeCode(err error) int {
	if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
		return closed.Code
	}
	return 0
}

// event passes an event to handle. A session must not be resumed unless its READY was handled.
func (s *session) event(p packet) error {
	if err := s.handle(p.Name, p.Data); err != nil {
		return err
	}
	s.sequence = p.Sequence
	if p.Name == "READY" {
		ready := read[struct {
			ID        string `json:"session_id"`
			ResumeURL string `json:"resume_gateway_url"`
		}](p.Data)
		s.id = ready.ID
		s.resumeURL = ready.ResumeURL
	}
	s.changed()
	if s.established || s.interval == 0 || p.Name != "READY" && p.Name != "RESUMED" {
		return nil
	}
	s.established = true
	s.ready()
	s.failedResumes = 0
	s.ws.Expect(s.interval * 3 / 2) // a dead connection is noticed early, so that it can be resumed
	s.beat.Reset(s.interval)
	return s.heartbeat()
}

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

var errInvalid = errors.New("the gateway called the session invalid")

// run handles the gateway's messages until the connection or ctx ends, and returns the reason.
func (s *session) run(ctx context.Context, ws *platform.Socket) error {
	defer ws.Close() // without a close frame, so the session can be resumed
	s.ws = ws
	s.beat = time.NewTicker(time.Hour)
	defer s.beat.Stop()
	s.beat.Stop() // until the session is established
	err := ws.Serve(ctx, s.beat.C, s.checkedHeartbeat, func(data []byte) error {
		var p packet
		if platform.Decode(data, &p) != nil {
			return nil
		}
		return s.receive(p)
	})
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errLeaving) {
		ws.Goodbye() // so that people see the bot go offline immediately
	}
	return err
}

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
		return s.event(p)
	case opHeartbeat:
		return s.heartbeat()
	case opHeartbeatAck:
		s.pending = false
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
		s.await("RESUMED of the gateway")
		return s.send(opResume, map[string]any{"token": s.token, "session_id": s.id, "seq": s.sequence})
	}
	s.await("READY of the gateway")
	return s.send(opIdentify, identify{
		Token: s.token, Intents: s.intents, Shard: s.shard,
		Properties: map[string]string{"os": runtime.GOOS, "browser": "cairn", "device": "cairn"},
	})
}

// identify starts a session (Discord, Gateway Events: Identify Structure).
type identify struct {
	Token      string            `json:"token"`
	Intents    discordgo.Intent  `json:"intents"`
	Shard      *[2]int           `json:"shard,omitempty"`
	Properties map[string]string `json:"properties"`
}

// checkedHeartbeat sends one unless the last is unacknowledged: the connection is dead (Discord, Gateway: Heartbeat ACK Event).
func (s *session) checkedHeartbeat() error {
	if s.pending {
		return errors.New("the gateway did not acknowledge the last heartbeat")
	}
	s.pending = true
	return s.heartbeat()
}

func (s *session) heartbeat() error { return s.send(opHeartbeat, s.sequence) }

func (s *session) send(op int, data any) error {
	return s.ws.Write(map[string]any{"op": op, "d": data})
}
