// Package web serves the HTTP API, its events and the dashboard from the bot's process.
package web

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"cairn/channel"
	"cairn/config"
	"cairn/store"
)

// Options configures a server. Hub, Store, Settings, Events, Listener and Log must be set.
type Options struct {
	Hub      *channel.Hub
	Store    *store.Store
	Settings func() *config.Settings // the current settings
	Events   *Events
	Listener net.Listener   // the server closes it
	Token    string         // the token that clients must send; "": none, allowed only on loopback
	Hosts    []string       // host names that browsers may use, besides localhost and IP addresses
	Proxies  []netip.Prefix // reverse proxies, whose X-Forwarded-For names the client
	Log      *slog.Logger
	Version  string

	Ready       func(ctx context.Context) (ok bool, parts []Part) // checks the bot's health; may query the database
	Health      http.Handler                                      // serves GET /healthz, /readyz and /metrics; nil: not served
	OpenMetrics bool                                              // /metrics requires no token, as the health checks at the same address
	Debug       http.Handler                                      // serves /debug/; nil: not served
	MCPWrites   bool                                              // whether clients of /mcp may change memories and compact
}

// Part is one aspect of the bot's health.
type Part struct {
	Part string `json:"part"`
	OK   bool   `json:"ok"`
	Why  string `json:"why,omitempty"` // what is wrong
}

// Server is the HTTP server. New starts nothing; Run serves.
type Server struct {
	o        Options
	operator channel.Operator
	mux      *http.ServeMux
	auth     auth
	limits   limits
	posts    posts
	fills    sync.Map        // of cachedUsage, by conversation
	streams  context.Context // canceled when streams must end

	simulating chan struct{} // capacity 1: one simulation at a time
	running    sync.WaitGroup
}

// New returns a server; Run starts it.
func New(o Options) *Server {
	s := &Server{
		o: o, operator: o.Hub.Operator(), mux: http.NewServeMux(), auth: newAuth(o.Token),
		streams: context.Background(), simulating: make(chan struct{}, 1),
	}
	s.healthRoutes()
	s.authRoutes()
	s.apiRoutes()
	s.pageRoutes()
	s.mcpRoutes()
	return s
}

func (s *Server) Name() string { return config.WebName }

const (
	answerTimeout = 30 * time.Second // for handlers that are not streams
	writeTimeout  = time.Minute      // of a whole answer, and of each write of a stream
	closeTimeout  = 3 * time.Second
)

// Run serves until ctx ends, and then waits a few seconds for running requests. The hub is already
// known: the parameter gives Run the signature of a connector's Run.
func (s *Server) Run(ctx context.Context, _ *channel.Hub) error {
	streams, end := context.WithCancel(ctx)
	defer end()
	s.streams = streams
	server := &http.Server{
		Handler: s.guarded(s.mux), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: writeTimeout,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10, ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
	}
	s.running.Go(func() { // the first page of the list must not wait for its windows
		_, _ = s.API()(streams, http.MethodGet, "/api/conversations", nil, nil) // the next request reports an error
	})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(s.o.Listener) }()
	s.o.Log.Info("web_listening", "address", s.o.Listener.Addr().String(), "token", s.o.Token != "")
	select {
	case err := <-ended:
		return fmt.Errorf("web: %w", err)
	case <-ctx.Done():
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if server.Shutdown(within) != nil {
		_ = server.Close() // the client is slow or gone
	}
	<-ended
	s.running.Wait()
	return nil
}

// handler handles a request. An error is sent as a problem, see fail.
type handler func(w http.ResponseWriter, r *http.Request) error

// handle registers a handler that requires full access, with answerTimeout.
func (s *Server) handle(pattern string, h handler) {
	s.private(pattern, func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
		defer cancel()
		return h(w, r.WithContext(ctx))
	})
}

// stream is handle without a time limit: a simulation may begin to answer late, and events never end.
// The context ends when the client disconnects or the server closes.
func (s *Server) stream(pattern string, h handler) {
	s.private(pattern, func(w http.ResponseWriter, r *http.Request) error {
		s.running.Add(1)
		defer s.running.Done()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(s.streams, cancel)()
		return h(streamWriter{w}, r.WithContext(ctx))
	})
}

// streamWriter limits the time of each write, so that a client that stops reading holds nothing.
type streamWriter struct{ http.ResponseWriter }

func (w streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w streamWriter) Write(text []byte) (int, error) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTimeout)) // fails only within the process
	return w.ResponseWriter.Write(text)
}

func (s *Server) private(pattern string, h handler) {
	s.serve(pattern, func(w http.ResponseWriter, r *http.Request) error {
		if err := s.authenticate(r); err != nil {
			return err
		}
		return h(w, r)
	})
}

// serve registers a handler that requires no access.
func (s *Server) serve(pattern string, h handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// healthRoutes serves the health checks to everyone; metrics require full access unless OpenMetrics is set.
func (s *Server) healthRoutes() {
	if s.o.Health != nil {
		metrics := s.handle
		if s.o.OpenMetrics {
			metrics = s.serve
		}
		metrics("GET /metrics", plain(s.o.Health))
		s.serve("GET /healthz", plain(s.o.Health))
		s.serve("GET /readyz", plain(s.o.Health))
	}
	if s.o.Debug != nil {
		s.stream("/debug/", plain(s.o.Debug)) // a profile takes a while
	}
}

func plain(h http.Handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		h.ServeHTTP(w, r)
		return nil
	}
}
