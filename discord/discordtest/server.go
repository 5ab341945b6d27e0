// Package discordtest is a Discord on loopback: a gateway and a REST API that are as strict as the
// platform, and can fail in every way the platform can.
//
// People are scripted (Say, Edit, Delete, Slash, Click …), faults are requested (Handshakes, Cut,
// HalfOpen, Fail …), and everything the client did can be read (Sent, Requests, Connections,
// Interaction). Every rule names its source: "Discord, X: Y" is page X, section Y of Discord's
// developer documentation; "judgement" means that no document says.
//
// Misuse by the script, such as an unknown channel, panics: it is a mistake in the test, not in the
// code under test.
package discordtest

import (
	"context"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
)

// Options configures a Server. The zero value behaves like Discord as documented.
type Options struct {
	Token           string        // of the bot, without "Bot "; empty: "token"
	Heartbeat       time.Duration // interval in HELLO; 0: 41.25 s
	HeartbeatWithin time.Duration // after which a client without a heartbeat is disconnected; 0: twice Heartbeat (judgement: no document gives a number)
	AnswerWithin    time.Duration // limit of the first response to an interaction; 0: 3 s
	TokenLife       time.Duration // of an interaction's token; 0: 15 min
	NonceLife       time.Duration // of an enforced nonce; 0: 5 min
	IdentifyEvery   time.Duration // minimum time between two IDENTIFYs, 5 s on Discord; 0: not enforced, so that tests need not wait
	IdentifyLimit   int           // IDENTIFYs until the token is reset; 0: 1000
	GlobalPerSecond int           // REST requests per second; 0: 50

	// Forbidden are the privileged intents that are disabled in the developer portal. Requesting one
	// closes with 4014; without IntentMessageContent REST responses hide content too.
	Forbidden discordgo.Intent

	// RefusePings rejects each message and edit that could notify someone, which is one without
	// allowed_mentions with an empty parse. This is a requirement of the tests, not of Discord.
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

// Server is a Discord with one bot. All methods are safe for concurrent use.
type Server struct {
	URL string          // of the REST API, without path and final slash: http://127.0.0.1:…
	Bot *discordgo.User // the client's user

	options Options
	http    *httptest.Server
	closed  chan struct{}
	sockets sync.WaitGroup // gateway connections

	mu    sync.Mutex // guards world
	world world
}

// New starts a Server, which must be closed.
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

// Close cuts every connection and waits for all goroutines.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	for c := range s.world.open {
		_ = c.Close() // even if the client has stopped reading
	}
	s.mu.Unlock()
	s.sockets.Wait()
	s.http.CloseClientConnections()
	s.http.Close()
}

// Wait returns nil when condition is true, which is evaluated after every change on the server, or
// the context's error.
func (s *Server) Wait(ctx context.Context, condition func() bool) error {
	for {
		s.mu.Lock()
		changed := s.world.changed
		s.mu.Unlock()
		if condition() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// do calls f with the world locked, and notifies those who wait for a change.
func (s *Server) do(f func(w *world)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.world)
	s.world.notifyChange()
}

// view calls f with the world locked, without notifying anyone.
func (s *Server) view(f func(w *world)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.world)
}
