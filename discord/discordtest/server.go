// Package discordtest is a Discord on loopback: a gateway and a REST API, as
// strict as the platform in what they accept, and able to fail in every way
// the platform can.
//
// People are scripted (Say, Edit, Delete, Slash, Click …), faults are asked for
// (Handshakes, Cut, HalfOpen, Fail …), and all that the client did can be read
// (Sent, Requests, Connections, Interaction). Every rule names its source:
// "Discord, X: Y" is page X, section Y of Discord's developer documentation.
//
// Misuse by the script, such as an unknown channel, panics: it is a mistake in
// the test, not in what is tested.
package discordtest

import (
	"context"
	"net/http/httptest"
	"sync"
	"time"
)

// Options set a Server. The zero value is Discord as documented.
type Options struct {
	Token           string        // of the bot, without "Bot "; empty: "token"
	Heartbeat       time.Duration // the interval HELLO asks for; 0: 41.25 s
	HeartbeatWithin time.Duration // that a client may be without a heartbeat before it is disconnected; 0: twice Heartbeat (judgement: no document gives a number)
	AnswerWithin    time.Duration // for the first answer to an interaction; 0: 3 s
	TokenLife       time.Duration // of an interaction's token; 0: 15 min
	NonceLife       time.Duration // of an enforced nonce; 0: 5 min
	IdentifyEvery   time.Duration // the least time between two IDENTIFYs, 5 s on Discord; 0: not enforced, so that tests need not wait
	IdentifyLimit   int           // IDENTIFYs until the token is reset; 0: 1000
	GlobalPerSecond int           // REST requests a second; 0: 50

	// Forbidden are the privileged intents that are switched off in the developer portal. Asking for one
	// closes with 4014; without IntentMessageContent REST answers hide content too.
	Forbidden int

	// RefusePings refuses each message and edit that could notify anyone: no allowed_mentions with an
	// empty parse. This is a demand of the test, not of Discord.
	RefusePings bool
}

func (o *Options) fill() {
	set(&o.Token, "token")
	set(&o.Heartbeat, 41250*time.Millisecond)
	set(&o.HeartbeatWithin, 2*o.Heartbeat)
	set(&o.AnswerWithin, 3*time.Second)
	set(&o.TokenLife, 15*time.Minute)
	set(&o.NonceLife, 5*time.Minute)
	set(&o.IdentifyLimit, 1000)
	set(&o.GlobalPerSecond, 50)
}

func set[T comparable](to *T, value T) {
	var zero T
	if *to == zero {
		*to = value
	}
}

// Server is one Discord with one bot on it. All methods may be called at once.
type Server struct {
	URL string // of the REST API without path or final slash: http://127.0.0.1:…
	Bot User   // the client

	options Options
	http    *httptest.Server
	closed  chan struct{}
	sockets sync.WaitGroup // gateway connections

	mu    sync.Mutex // guards world
	world world
}

// New starts a Server, which Close ends.
func New(o Options) *Server {
	o.fill()
	s := &Server{options: o, closed: make(chan struct{})}
	s.world = newWorld(o)
	s.Bot = s.world.bot
	s.http = httptest.NewServer(s.routes())
	s.URL = s.http.URL
	s.world.url = s.URL
	return s
}

// Close cuts every connection and waits for all that New and the clients began.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	for c := range s.world.open {
		_ = c.ws.Close() // even if the client stopped reading
	}
	s.mu.Unlock()
	s.sockets.Wait()
	s.http.CloseClientConnections()
	s.http.Close()
}

// Wait returns nil as soon as holds is true, which is asked again whenever
// something happened here, or else the context's error.
func (s *Server) Wait(ctx context.Context, holds func() bool) error {
	for {
		s.mu.Lock()
		changed := s.world.changed
		s.mu.Unlock()
		if holds() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// do runs f on the world and tells those who wait for a change.
func (s *Server) do(f func(w *world)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.world)
	s.world.happened()
}

// look runs f on the world.
func (s *Server) look(f func(w *world)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.world)
}
