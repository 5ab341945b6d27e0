// Package web serves the HTTP API, its events and the dashboard from the bot's process.
package web

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"cairn/channel"
	"cairn/config"
	"cairn/connector/platform"
	"cairn/store"
)

// Options configures a server. Hub, Store, Settings, Events and Log must be set. To run, it needs Listener or Local.
type Options struct {
	Hub      *channel.Hub
	Store    *store.Store
	Settings func() *config.Settings // the current settings
	Events   *Events

	Terminals *Terminals     // nil: conversations of terminals cannot be used over HTTP
	Listener  net.Listener   // the server closes it; nil: no address
	Local     net.Listener   // a socket that only the bot's user can open, who has full access without a token; the server closes it; nil: none
	Token     string         // the token that clients must send; "": none, allowed only on loopback
	Hosts     []string       // host names that browsers may use, besides localhost and IP addresses
	Proxies   []netip.Prefix // reverse proxies, whose X-Forwarded-For names the client
	Log       *slog.Logger
	Version   string
	Database  string // a mark of the database, by which a program beside the bot recognizes its own; "": none

	Models func(ctx context.Context) (Offered, error) // the models of the configured servers; nil: not known

	Connectors  Connectors                                        // nil: there are none
	Tools       channel.Toolbox                                   // of other programs; nil: there are none
	Ready       func(ctx context.Context) (ok bool, parts []Part) // checks the bot's health; may query the database
	Health      http.Handler                                      // serves GET /healthz, /readyz and /metrics; nil: not served
	OpenMetrics bool                                              // /metrics requires no token, as the health checks at the same address
	Debug       http.Handler                                      // serves /debug/; nil: not served
	MCPWrites   bool                                              // whether clients of /mcp may change memories and compact
	Files       func() platform.Files                             // reads what comes with messages, by the current settings; nil: nothing may come
}

// Part is one aspect of the bot's health.
type Part struct {
	Part string `json:"part"`
	OK   bool   `json:"ok"`
	Why  string `json:"why,omitempty"` // what is wrong
}

// Server is the HTTP server. New starts nothing; Run serves.
type Server struct {
	o         Options
	router    *router
	endpoints *endpoints
}

// New returns a server; Run starts it.
func New(o Options) *Server {
	gate := &gate{auth: newAuth(o.Token), hosts: o.Hosts, proxies: o.Proxies}
	fleet := channel.FleetOf(o.Hub)
	s := &Server{o: o, router: newRouter(gate, fleet, o.Version, o.Log), endpoints: newEndpoints(o, gate)}
	s.healthRoutes()
	s.router.registerLogin()
	s.endpoints.register(s.router)
	(&dashboard{endpoints: s.endpoints, ready: o.Ready}).register(s.router)
	s.mcpRoutes()
	if fleet != nil {
		fleet.Answers(relayRequest, s.router.answerRelayed)
	}
	return s
}

func (s *Server) Name() string { return config.WebName }

const closeTimeout = 3 * time.Second

// Run serves until ctx ends, and then waits a few seconds for running requests. The hub is already
// known: the parameter gives Run the signature of a connector's Run.
func (s *Server) Run(ctx context.Context, _ *channel.Hub) error {
	streams, end := context.WithCancel(ctx)
	defer end()
	s.router.streams = streams
	server := &http.Server{
		Handler: compressed(s.router.guarded()), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: writeTimeout,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10, ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
		ConnContext: trustLocal,
	}
	s.router.running.Go(func() { // the first page of the list must not wait for its windows
		_, _ = s.API()(streams, http.MethodGet, "/api/conversations", nil, nil) // the next request reports an error
	})
	if fleet := s.router.fleet; fleet != nil {
		s.router.running.Go(func() { s.o.Events.follow(streams, fleet) })
	}
	var listeners []net.Listener
	if s.o.Listener != nil {
		listeners = append(listeners, s.o.Listener)
		s.o.Log.Info("web_listening", "address", s.o.Listener.Addr().String(), "token", s.router.gate.auth.needed)
	}
	if s.o.Local != nil {
		listeners = append(listeners, s.o.Local)
	}
	ended := make(chan error, len(listeners))
	for _, listener := range listeners {
		go func() { ended <- server.Serve(listener) }()
	}
	select {
	case err := <-ended:
		_ = server.Close() // the other listener
		return fmt.Errorf("web: %w", err)
	case <-ctx.Done():
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if server.Shutdown(within) != nil {
		_ = server.Close() // the client is slow or gone
	}
	for range listeners {
		<-ended
	}
	s.router.running.Wait()
	return nil
}

// trustLocal gives full access to those who can open the bot's socket: its permissions are the check.
func trustLocal(ctx context.Context, conn net.Conn) context.Context {
	if conn.LocalAddr().Network() != "unix" {
		return ctx
	}
	return context.WithValue(ctx, trusted{}, true)
}

// healthRoutes serves the health checks to everyone; metrics require full access unless OpenMetrics is set.
func (s *Server) healthRoutes() {
	if s.o.Health != nil {
		metrics := s.router.handle
		if s.o.OpenMetrics {
			metrics = s.router.serve
		}
		metrics("GET /metrics", plain(s.o.Health))
		s.router.serve("GET /healthz", plain(s.o.Health))
		s.router.serve("GET /readyz", plain(s.o.Health))
	}
	if s.o.Debug != nil {
		s.router.stream("/debug/", plain(s.o.Debug)) // a profile takes a while
	}
}
