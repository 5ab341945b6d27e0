// A session with the gateway, and the state it keeps from one connection to the next.

package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"cairn/internal/platform"
)

// session is one session with the gateway: it starts with IDENTIFY and is resumed on further
// connections as long as the gateway knows it. discordgo's session deadlocks on op 7, hides close
// codes, and waits for HELLO and READY forever. Only one goroutine may use a session.
type session struct {
	token   string
	gateway string // address at which the session starts
	intents discordgo.Intent
	timeout time.Duration                                 // from the dial to READY or RESUMED
	handle  func(name string, data json.RawMessage) error // called with each event in order; the next one waits, and an error ends the connection

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

	unacknowledged bool // the last heartbeat was not acknowledged yet
}

// maxFailedResumes is how many times in a row a session may fail to resume on a gateway that
// responds, before it is given up.
const maxFailedResumes = 3

// connect starts or resumes the session. It returns the reason when the connection or ctx has
// ended.
func (s *session) connect(ctx context.Context) error {
	s.interval, s.established, s.identified, s.unacknowledged = 0, false, time.Time{}, false
	ws, status, err := platform.Dial(ctx, s.address(), nil, s.timeout)
	switch {
	case status != 0:
		err = fmt.Errorf("the gateway answered HTTP %d", status)
	case err != nil:
		err = fmt.Errorf("connect to the gateway: %w", err)
	default:
		err = s.run(ctx, ws)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.noteEnd(err)
	return err
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
func (s *session) event(name string, sequence int64, data json.RawMessage) error {
	if err := s.handle(name, data); err != nil {
		return err
	}
	s.sequence = sequence
	switch name {
	case "READY":
		ready := read[struct {
			ID        string `json:"session_id"`
			ResumeURL string `json:"resume_gateway_url"`
		}](data)
		s.id, s.resumeURL = ready.ID, ready.ResumeURL
		s.established, s.failedResumes = true, 0
	case "RESUMED":
		s.established, s.failedResumes = true, 0
	}
	return nil
}

// address returns the URL of the next connection, with the parameters that Discord requires
// (Discord, Gateway: Connecting).
func (s *session) address() string {
	return cmp.Or(s.resumeURL, s.gateway) + "?encoding=json&v=" + discordgo.APIVersion
}
