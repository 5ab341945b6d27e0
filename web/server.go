// Package web serves the HTTP API, its events and the dashboard from the process of the bot.
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"cairn/channel"
	"cairn/config"
	"cairn/store"
)

// Options configures a server. Hub, Store, Settings, Agent, Events, Listener and Log must be set.
type Options struct {
	Hub      *channel.Hub
	Store    *store.Store
	Settings func() *config.Settings // those in force
	Events   *Events
	Listener net.Listener // the server closes it
	Token    string       // the token that clients must send; "": none, only on loopback
	Hosts    []string     // names under which browsers may ask, beside localhost and addresses
	Log      *slog.Logger
	Version  string

	Ready       func(ctx context.Context) (ok bool, parts []Part) // whether all is well; it may ask the database
	Health      http.Handler                                      // of GET /healthz, /readyz and /metrics; nil: not served
	OpenMetrics bool                                              // /metrics needs no token: it is at the same address as health, which asks for none
	Debug       http.Handler                                      // of /debug/; nil: not served
	MCPWrites   bool                                              // clients of /mcp may change memories, and compact
}

// Part is one thing that must be well.
type Part struct {
	Part string `json:"part"`
	OK   bool   `json:"ok"`
	Why  string `json:"why,omitempty"` // what is wrong, in words
}

// Server is the HTTP server. New starts nothing; Run serves.
type Server struct {
	o        Options
	operator channel.Operator
	mux      *http.ServeMux
	auth     auth
	limits   limits
	fills    fills
	hosts    map[string]bool
	handler  http.Handler
	streams  context.Context // ended: streams must end

	simulating chan struct{} // room for one
	running    sync.WaitGroup
}

// New returns a server that serves when it runs.
func New(o Options) *Server {
	s := &Server{o: o, operator: o.Hub.Operator(), mux: http.NewServeMux(), auth: newAuth(o.Token), hosts: allowedHosts(o), simulating: make(chan struct{}, 1)}
	s.streams = context.Background()
	s.handler = s.guarded(s.mux)
	s.healthRoutes()
	s.authRoutes()
	s.apiRoutes()
	s.pageRoutes()
	s.chatRoutes()
	s.mcpRoutes()
	return s
}

// Name is "web".
func (s *Server) Name() string { return config.WebName }

// Handler returns the server's handler.
func (s *Server) Handler() http.Handler { return s.handler }

// Limits of a connection. A stream extends its write deadline by itself.
const (
	readTimeout   = 30 * time.Second
	answerTimeout = 30 * time.Second // of a handler that is no stream
	writeTimeout  = time.Minute
	idleTimeout   = 2 * time.Minute
	closeTimeout  = 3 * time.Second
	maxHeader     = 32 << 10
)

// Run serves until ctx ends, and then waits a few seconds for running requests. The hub is known
// already: the parameter gives Run the signature of a connector's.
func (s *Server) Run(ctx context.Context, _ *channel.Hub) error {
	streams, end := context.WithCancel(ctx)
	defer end()
	s.streams = streams
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
	}
	s.running.Go(func() { // once measured, the first page of the list loads fast
		_, _ = s.conversations(streams, "", pageSize, 0) // a request reports the error
	})
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if server.Shutdown(within) != nil {
			_ = server.Close() // who asked is slow, or gone
		}
	})
	s.o.Log.Info("web_listening", "address", s.o.Listener.Addr().String(), "token", s.o.Token != "")
	err := server.Serve(s.o.Listener)
	if stop() { // it ended by itself
		return fmt.Errorf("web: %w", err)
	}
	<-closed
	s.running.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// handler answers a request, or says why not. An error becomes a problem, see fail.
type handler func(w http.ResponseWriter, r *http.Request) error

// handle serves a pattern to those who may see everything, for at most answerTimeout.
func (s *Server) handle(pattern string, h handler) {
	s.serve(pattern, func(w http.ResponseWriter, r *http.Request) error {
		if err := s.authenticate(r); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
		defer cancel()
		return h(w, r.WithContext(ctx))
	})
}

// stream is handle for an answer without end. Its context ends when the client goes or the
// server closes.
func (s *Server) stream(pattern string, h handler) {
	s.serve(pattern, func(w http.ResponseWriter, r *http.Request) error {
		if err := s.authenticate(r); err != nil {
			return err
		}
		s.running.Add(1)
		defer s.running.Done()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.streams, cancel)()
		return h(w, r.WithContext(ctx))
	})
}

// serve serves a pattern to everybody.
func (s *Server) serve(pattern string, h handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// healthRoutes serves the probes to everybody, and metrics to those who may see everything.
func (s *Server) healthRoutes() {
	if s.o.Health != nil {
		s.mux.Handle("GET /healthz", s.o.Health)
		s.mux.Handle("GET /readyz", s.o.Health)
		if s.o.OpenMetrics {
			s.mux.Handle("GET /metrics", s.o.Health)
		} else {
			s.handle("GET /metrics", plain(s.o.Health))
		}
	}
	if s.o.Debug != nil {
		s.stream("/debug/", plain(s.o.Debug)) // a profile takes its time
	}
}

// plain is a handler that answers by itself.
func plain(h http.Handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		h.ServeHTTP(w, r)
		return nil
	}
}
