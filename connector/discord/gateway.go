// Sessions with the gateway: the handshake, heartbeats and events (Discord, Gateway), the state that a session keeps
// from one connection to the next, and the supervisor that keeps the bot connected.

package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
	timeout time.Duration                                 // from the dial to READY or RESUMED
	handle  func(name string, data json.RawMessage) error // called with each event in order; the next one waits, and an error ends the connection
	await   func(what string)                             // called with what the gateway must send next, see platform.Link

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
	default: // the address from READY may not be reachable from here
		s.resumeURL = ""
	}
	code := closeCode(err)
	if code == 4007 || code == 4009 || errors.Is(err, errInvalid) || s.failedResumes >= maxFailedResumes {
		s.id = ""
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
	if s.established || s.interval == 0 || p.Name != "READY" && p.Name != "RESUMED" {
		return nil
	}
	s.established = true
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
	if ctx.Err() != nil {
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
	return s.send(opIdentify, map[string]any{
		"token": s.token, "intents": s.intents,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "cairn", "device": "cairn"},
	})
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

const (
	maxPause         = 8 * time.Second // between two connections: RESUME has no daily limit, and people wait
	maxIdentifyPause = 2 * time.Minute // between two new sessions, so that Discord's 1000 a day suffice (Gateway: Session Start Limit)
	steadyAfter      = 5 * time.Second // a connection that lasted this long after READY or RESUMED resets the backoff
)

// fatalMessages say what to do, by close code (Discord, Opcodes and Status Codes: Gateway Close Event Codes).
var fatalMessages = map[int]string{
	4004: "the token is refused; check DISCORD_TOKEN: https://discord.com/developers/applications → your application → Bot → Reset Token",
	4010: outdated,
	4011: "the bot is in too many servers (code 4011): " + oneConnection + ". To go on, remove the bot from some servers, or " + divide,
	4012: outdated,
	4013: outdated,
	4014: "the bot is not allowed to read messages: switch on Message Content Intent at https://discord.com/developers/applications → your application → Bot → Privileged Gateway Intents, or set message_content = false under [discord] to answer only messages addressed to it",
}

const outdated = "Discord no longer accepts how this version of Cairn connects (codes 4010, 4012, 4013): update cairn, or check the server at api_base"

// fatal returns an error that says what to do about err, or nil if a retry may help.
func fatal(err error) error {
	if refusalIn(err).status == http.StatusUnauthorized {
		return platform.SetupError(fatalMessages[4004])
	}
	if text := fatalMessages[closeCode(err)]; text != "" {
		return platform.SetupError(text)
	}
	return nil
}

// supervise keeps the connector connected until ctx is done. It returns only errors that a person has to fix.
func (d *Discord) supervise(ctx context.Context) error {
	d.Work.Open(ctx)
	var s *session // the latest; nil: none yet, or it could not be prepared
	return d.Link.Keep(d.Work.Ctx, func(ctx context.Context) (err error) {
		fresh := s == nil || s.id == ""
		if fresh {
			s, err = d.newSession(ctx)
		}
		if err == nil {
			connection, done := d.Link.Connection(ctx)
			err = s.connect(connection)
			done()
			if errors.Is(err, platform.ErrDeaf) { // the session may be what delivers nothing
				s.id = ""
			}
			if fresh && !s.identified.IsZero() {
				d.noteIdentify(s.identified)
			}
		}
		return cmp.Or(fatal(err), err)
	})
}

// noteIdentify sets when the next session may start. New sessions that follow each other soon get longer and longer pauses.
func (d *Discord) noteIdentify(at time.Time) {
	pause := &d.pauses.identify
	if at.Sub(d.lastIdentify) > 2*maxIdentifyPause {
		pause.Reset()
	}
	d.lastIdentify, d.nextIdentify = at, at.Add(max(pause.First, pause.Next())) // Next may be shorter than First
}

// newSession waits until Discord accepts a new session (Discord, Gateway: Rate Limiting; Session Start Limit).
func (d *Discord) newSession(ctx context.Context) (*session, error) {
	found, err := d.findGateway(d.Link.AwaitAnswers(ctx, "the answer to GET /gateway/bot"))
	wait := time.Until(d.nextIdentify)
	switch {
	case err != nil:
		return nil, err
	case found.URL == "":
		return nil, errors.New("the server does not say where its gateway is")
	case found.Start != nil && found.Start.Remaining < 1:
		wait = max(wait, time.Duration(found.Start.ResetAfter)*time.Millisecond)
		d.Log.Warn("session_limit_reached", "wait", wait.Round(time.Second))
	}
	d.servers.recommended = found.Shards
	if err := platform.Sleep(ctx, wait); err != nil {
		return nil, err
	}
	intents := discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages
	if !d.o.MentionOnly {
		intents |= discordgo.IntentMessageContent
	}
	return &session{token: d.o.Token, gateway: found.URL, intents: intents, timeout: d.pauses.open, handle: d.event, await: d.Link.Await}, nil
}
