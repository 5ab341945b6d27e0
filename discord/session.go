// A session with the gateway, on top of the library, which knows the protocol, and a
// wire of our own.

package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
)

// session is one session with the gateway: begun by IDENTIFY, and resumed on one
// connection after the other, for as long as the gateway knows it.
type session struct {
	lib      *discordgo.Session
	gateway  string        // the address where it begins
	patience time.Duration // until READY
	handle   func(name string, data json.RawMessage) error
	lost     chan struct{} // has one when the library has let go of a connection

	mu      sync.Mutex      // guards everything below
	ctx     context.Context // of the connection that is being made
	wire    *wire           // the newest
	known   bool            // the gateway knows it, from READY until it says otherwise
	stands  bool            // READY or RESUMED came on the newest connection
	refused int             // connections in a row that came as far as HELLO only
	back    string          // the address where it is resumed; empty: where it began
	slash   bool            // ends the path of the address
	told    string          // the address that the library knows
	stray   bool            // the next dial fails, so that the library asks for the address again
}

// maxRefused is how often a session is resumed in vain, by a gateway that speaks.
const maxRefused = 3

// newSession returns a session that is not yet begun. handle is given each event, one
// after the other, and must not block; its error ends the connection.
func newSession(token, gateway string, intents discordgo.Intent, patience time.Duration, handle func(string, json.RawMessage) error) (*session, error) {
	lib, err := discordgo.New("Bot " + token)
	if err != nil {
		return nil, err
	}
	s := &session{lib: lib, gateway: gateway, patience: patience, handle: handle, lost: make(chan struct{}, 1)}
	lib.Identify.Intents = intents
	lib.Compress, lib.Identify.Compress = false, false // the wire reads along
	lib.ShouldReconnectOnError = false                 // the library's loop cannot be stopped
	lib.SyncEvents = true                              // else events overtake each other
	lib.StateEnabled = false                           // the atlas is smaller
	lib.LogLevel = -1                                  // its lines may hold the token
	lib.Client = &http.Client{Transport: signpost{s}}
	way := dialer{proxy: http.ProxyFromEnvironment}
	lib.Dialer = &websocket.Dialer{HandshakeTimeout: patience, NetDialContext: s.strung(way.plain), NetDialTLSContext: s.strung(way.secure)}
	lib.AddHandler(func(_ *discordgo.Session, e *discordgo.Event) { s.event(e) })
	lib.AddHandler(func(*discordgo.Session, *discordgo.Disconnect) {
		select {
		case s.lost <- struct{}{}:
		default:
		}
	})
	return s, nil
}

// resumeData is what READY says about resuming.
type resumeData struct {
	URL string `json:"resume_gateway_url"`
}

// signpost answers the one question the library asks by HTTP, where the gateway is,
// with what the door found out: so its addresses, which are variables of the whole
// program, need not be changed.
type signpost struct{ s *session }

func (p signpost) RoundTrip(q *http.Request) (*http.Response, error) {
	p.s.mu.Lock()
	p.s.told = p.s.addressLocked()
	body, err := json.Marshal(map[string]string{"url": p.s.told + "#"}) // what the library adds counts for nothing then
	p.s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: q,
	}, nil
}

// strung is a way to make a connection with a wire on it.
func (s *session) strung(dial func(ctx context.Context, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		s.mu.Lock()
		own, stray := s.ctx, s.stray
		s.stray = false
		s.mu.Unlock()
		if stray {
			return nil, errors.New("the gateway has another address")
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(own, cancel)()
		conn, err := dial(ctx, address)
		if err != nil {
			return nil, err
		}
		w := newWire(conn, s.patience)
		s.mu.Lock()
		s.wire = w
		s.mu.Unlock()
		if own.Err() != nil {
			w.cut(ending{err: own.Err()})
		}
		return w, nil
	}
}

// event passes an event on. A session is not to be resumed unless its READY was taken.
func (s *session) event(e *discordgo.Event) {
	if err := s.handle(e.Type, e.RawData); err != nil {
		s.cut(ending{err: err})
		return
	}
	if e.Type == "READY" || e.Type == "RESUMED" {
		s.mu.Lock()
		s.known, s.stands, s.refused = true, true, 0
		if e.Type == "READY" {
			s.back = read[resumeData](e.RawData).URL
			if !akin(s.back, s.gateway) { // the token is not for others
				s.back = ""
			}
		}
		w := s.wire
		s.mu.Unlock()
		w.welcome()
	}
}

// connect begins or resumes the session and returns when its connection has ended,
// with the reason; or when ctx has.
func (s *session) connect(ctx context.Context) ending {
	s.mu.Lock()
	s.ctx, s.stands = ctx, false
	s.mu.Unlock()
	defer context.AfterFunc(ctx, func() {
		if !s.established() {
			s.cut(ending{err: context.Canceled})
		}
	})()
	select {
	case <-s.lost: // of a connection before
	default:
	}
	err := s.open()
	if s.misplaced() {
		err = s.open()
	}
	if err != nil {
		return s.why(err)
	}
	s.mu.Lock()
	w := s.wire
	s.mu.Unlock()
	select {
	case <-w.gone:
	case <-ctx.Done():
		s.leave(w)
		return ending{err: ctx.Err()}
	}
	select {
	case <-s.lost: // it may be of an earlier connection: then the next attempt waits for the library
	case <-ctx.Done():
	}
	return s.why(nil)
}

// open has the library connect to the address of now. It keeps the one it knows until
// a dial fails.
func (s *session) open() error {
	s.mu.Lock()
	s.wire = nil
	s.stray = s.told != "" && s.told != s.addressLocked()
	stray := s.stray
	s.mu.Unlock()
	if stray {
		_ = s.lib.Open()
	}
	return s.lib.Open()
}

// addressLocked is where the next connection goes, with what Discord wants there
// (Discord, Gateway: Connecting).
func (s *session) addressLocked() string {
	u, err := url.Parse(or(s.back, s.gateway))
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

// akin tells whether two addresses are those of one host or domain, and of one kind.
func akin(a, b string) bool {
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

// misplaced tells whether there is no gateway at the address, but one may be behind a
// slash: there the next dial goes. That is the library's form, which some servers may
// be made for.
func (s *session) misplaced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slash || s.wire == nil {
		return false
	}
	status := s.wire.ended().status
	s.slash = status >= 300 && status < 500
	return s.slash
}

// leave says goodbye, so that people see the bot go offline at once.
func (s *session) leave(w *wire) {
	_ = w.SetWriteDeadline(time.Now().Add(grace)) // a dead connection takes nothing
	_ = s.lib.Close()                             // reports nothing
}

func (s *session) cut(e ending) {
	s.mu.Lock()
	w := s.wire
	s.mu.Unlock()
	if w != nil {
		w.cut(e)
	}
}

// why finds the reason for the end of a connection, of which the library said err, and
// whether it was the end of the session too.
func (s *session) why(err error) ending {
	s.mu.Lock()
	defer s.mu.Unlock()
	var e ending
	if s.wire != nil {
		e = s.wire.ended()
	}
	if e == (ending{}) {
		e.err = err
	}
	spoke := s.wire != nil && !s.wire.greeted().IsZero()
	switch {
	case s.stands:
	case spoke:
		s.refused++
	default: // the address of READY may be of use to others only
		s.back = ""
	}
	if e.anew || e.code == 4007 || e.code == 4009 || s.refused >= maxRefused {
		s.known = false
	}
	return e
}

// identified returns when the newest connection sent its IDENTIFY or RESUME; zero: it
// did not come to that.
func (s *session) identified() time.Time {
	s.mu.Lock()
	w := s.wire
	s.mu.Unlock()
	if w == nil {
		return time.Time{}
	}
	return w.greeted()
}

// resumable tells whether another connection may go on where this one ended.
func (s *session) resumable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// established tells whether the newest connection got as far as READY or RESUMED.
func (s *session) established() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stands
}
