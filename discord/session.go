// A session with the gateway: where it is, and what is kept from one connection to the next.

package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"cairn/internal/platform"
)

// session is one session with the gateway: it starts with IDENTIFY, and is resumed on one connection
// after the other while the gateway knows it. discordgo's own session deadlocks on op 7, hides close
// codes, and waits for HELLO and READY without end. All methods are for one goroutine.
type session struct {
	token   string
	gateway string // the address where it begins
	intents discordgo.Intent
	timeout time.Duration                                 // from the dial to READY or RESUMED
	handle  func(name string, data json.RawMessage) error // gets each event, one after the other, and must not block; its error ends the connection

	id        string // empty: the gateway does not know the session, or not any more
	sequence  int64  // of the last event that was handled
	resumeURL string // the address where it is resumed; empty: where it began
	slash     bool   // ends the path of the address
	refused   int    // connections in a row that came as far as HELLO only

	established bool      // READY or RESUMED came on the newest connection
	identified  time.Time // when the newest connection sent IDENTIFY or RESUME; zero: it did not
}

// maxRefused is how often a session is resumed in vain, by a gateway that answers.
const maxRefused = 3

// connect begins or resumes the session and returns when its connection has ended, with the
// reason; or when ctx has.
func (s *session) connect(ctx context.Context) ending {
	s.established, s.identified = false, time.Time{}
	deadline := time.Now().Add(s.timeout)
	ws, e := s.dial(ctx)
	if !s.slash && e.status >= 300 && e.status < 500 { // some servers have their gateway behind a slash
		s.slash = true
		ws, e = s.dial(ctx)
	}
	if ws != nil {
		e = newConnection(s, ws, deadline).run(ctx)
	}
	if ctx.Err() != nil {
		return ending{err: ctx.Err()}
	}
	s.note(e)
	return e
}

func (s *session) dial(ctx context.Context) (*platform.Socket, ending) {
	ws, status, err := platform.Dial(ctx, s.address(), nil, s.timeout)
	switch {
	case status != 0:
		err = fmt.Errorf("the gateway answered HTTP %d", status)
	case err != nil:
		err = fmt.Errorf("connect to the gateway: %w", err)
	}
	return ws, ending{status: status, err: err}
}

// note keeps what the end of a connection says about the session.
func (s *session) note(e ending) {
	switch {
	case s.established:
	case !s.identified.IsZero():
		s.refused++
	default: // the address of READY may be of use to others only
		s.resumeURL = ""
	}
	if e.gone || e.code == 4007 || e.code == 4009 || s.refused >= maxRefused {
		s.id = ""
	}
}

// event passes an event on. A session is not to be resumed unless its READY was handled.
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
		if !sameSite(s.resumeURL, s.gateway) { // the token is not for others
			s.resumeURL = ""
		}
		s.established, s.refused = true, 0
	case "RESUMED":
		s.established, s.refused = true, 0
	}
	return nil
}

// address is where the next connection goes, with what Discord wants there (Discord, Gateway:
// Connecting).
func (s *session) address() string {
	u, err := url.Parse(cmp.Or(s.resumeURL, s.gateway))
	if err != nil {
		return s.gateway
	}
	if (s.slash || u.Path == "") && !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	q := u.Query()
	q.Set("v", discordgo.APIVersion)
	q.Set("encoding", "json")
	u.RawQuery = q.Encode()
	return u.String()
}

// sameSite reports whether two addresses have one scheme, and one host or domain.
func sameSite(a, b string) bool {
	u, err := url.Parse(a)
	v, err2 := url.Parse(b)
	if err != nil || err2 != nil || u.Scheme != v.Scheme {
		return false
	}
	return u.Hostname() == v.Hostname() || domain(u.Hostname()) != "" && domain(u.Hostname()) == domain(v.Hostname())
}

// domain is the last two names of a host; empty for addresses in numbers.
func domain(host string) string {
	names := strings.Split(host, ".")
	if len(names) < 2 || net.ParseIP(host) != nil {
		return ""
	}
	return strings.Join(names[len(names)-2:], ".")
}

// ending is why a connection to the gateway ended.
type ending struct {
	code   int  // of the close frame; 0: there was none
	status int  // HTTP's, in place of a WebSocket; 0: there was none
	gone   bool // op 9: the session cannot be resumed
	err    error
}

func (e ending) Error() string {
	if e.code != 0 {
		return fmt.Sprintf("the gateway closed the connection with code %d", e.code)
	}
	return e.err.Error()
}

// endingOf is the reason for which nothing more can be read.
func endingOf(err error) ending {
	var closed *websocket.CloseError
	if errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure { // which no frame has
		return ending{code: closed.Code}
	}
	return ending{err: err}
}
