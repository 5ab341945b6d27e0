// Health checks of a running bot over HTTP, and cairn health, which asks for them.

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/sync/singleflight"

	"cairn/channel"
	"cairn/internal/observe"
	"cairn/internal/secrets"
	"cairn/store"
	"cairn/web"
)

// probeTimeout limits the checks behind one response.
const probeTimeout = 8 * time.Second

// probeTTL is how long a result is reused. The readiness check writes to the database, and anyone who
// can reach the address may request it.
const probeTTL = time.Second

type health struct {
	log        *slog.Logger
	hub        *channel.Hub
	store      *store.Store
	standIns   func() string     // which models answer in place of others
	upkeep     *observe.Incident // of backups and erasure
	connectors []outerConnector
	ctx        context.Context    // ends when the bot stops
	handler    *http.ServeMux     // serves /healthz, /readyz and /metrics
	probes     singleflight.Group // concurrent requests share one check
	found      sync.Map           // by name, the latest result: state
	ended      sync.Map           // connectors that a person has to repair, by name: what to do

	readFailure, writeFailure observe.Incident // incidents of the database

	vitals atomic.Pointer[store.Vitals] // of the database, when it could last be read; for metrics
}

func (b *bot) newHealth(ctx context.Context, connectors []outerConnector) *health {
	h := &health{log: b.log, hub: b.hub, store: b.store, standIns: b.standIns, upkeep: &b.upkeepFailure, connectors: connectors, ctx: ctx, handler: http.NewServeMux()}
	h.handler.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { h.answer(w, "alive", h.alive) })
	h.handler.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { h.answer(w, "ready", h.ready) })
	b.metrics.registry.MustRegister(h) // collects the gauges
	h.handler.Handle("GET /metrics", promhttp.HandlerFor(b.metrics.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	return h
}

// startHealth starts the health server on the configured address, or none if there is no address.
func (b *bot) startHealth(ctx context.Context, connectors []outerConnector) (*health, error) {
	h := b.newHealth(ctx, connectors)
	address := b.started.Health
	if address == "" || address == b.started.Web.Listen { // the web server serves it too
		return h, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	server := &http.Server{
		Handler: h.handler, ReadTimeout: 5 * time.Second, WriteTimeout: 2 * probeTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10,
		ErrorLog: slog.NewLogLogger(b.log.Handler(), slog.LevelDebug),
	}
	b.log.Info("health_listening", "health", listener.Addr().String())
	context.AfterFunc(b.ctx, func() { _ = server.Close() })
	b.tasks.Go(func() { _ = server.Serve(listener) })
	return h, nil
}

// state is the content of a response. It contains no secrets and no message text.
type state struct {
	OK    bool       `json:"ok"`
	Parts []web.Part `json:"parts"`

	at time.Time // when it was checked
}

func (s *state) add(part string, wrong bool, why string) {
	if !wrong {
		why = ""
	}
	s.Parts = append(s.Parts, web.Part{Part: part, OK: !wrong, Why: why})
	s.OK = s.OK && !wrong
}

// answer writes the result of check: status 200 if everything is fine, else 503. Concurrent requests
// share one check, and its result is reused for probeTTL.
func (h *health) answer(w http.ResponseWriter, name string, check func(context.Context) state) {
	found, _, _ := h.probes.Do(name, func() (any, error) {
		if last, _ := h.found.Load(name); last != nil && time.Since(last.(state).at) < probeTTL {
			return last, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), probeTimeout)
		defer cancel()
		s := check(ctx)
		s.at = time.Now()
		h.found.Store(name, s)
		return s, nil
	})
	s := found.(state)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !s.OK {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(s) // the client may be gone
}

// alive checks the process and its database file; if it fails, a restart may help. A server that is away comes back by itself.
func (h *health) alive(ctx context.Context) state {
	s := state{OK: true, Parts: []web.Part{}}
	database := h.store.Upkeep()
	if !database.OnServer() {
		h.addDatabase(ctx, &s, &h.readFailure, database.Readable(ctx), "cannot be read")
	}
	return s
}

// modelDown is the number of failed turns in a row after which the model counts as down.
const modelDown = 3

// ready checks whether a message to the bot would be answered now.
func (h *health) ready(ctx context.Context) state {
	s := state{OK: true}
	stats := h.hub.Stats()
	s.add("process", h.ctx.Err() != nil, "the bot is stopping")
	for _, connector := range h.connectors {
		h.addConnector(&s, connector)
	}
	database := h.store.Upkeep()
	err := database.Damage()
	what := "is damaged"
	if err == nil {
		err = database.Writable(ctx)
		what = "cannot be written"
	}
	h.addDatabase(ctx, &s, &h.writeFailure, err, what)
	s.add("conversations", stats.Stuck > 0, counted(stats.Stuck, "conversation", "conversations")+" cannot continue; the log says why")
	s.add("replies", stats.Refused > 0, counted(stats.Refused, "conversation", "conversations")+" cannot send a reply; the log says why")
	if stats.Refused == 0 && stats.Dropped > 0 { // a dropped one delays nothing, and is only mentioned
		s.Parts[len(s.Parts)-1].Why = counted(int(stats.Dropped), "piece", "pieces") + " of replies could not be sent; the log says why"
	}
	s.add("model", stats.Failing >= modelDown, fmt.Sprintf("the last %d turns failed; the log says why", stats.Failing))
	if standing := h.standIns(); standing != "" && stats.Failing < modelDown {
		s.Parts[len(s.Parts)-1].Why = standing
	}
	for _, connector := range h.connectors {
		if c, ok := connector.(shardedConnector); ok && !channel.FleetOf(h.hub).OwnsNone(connector.Name()) {
			s.Parts = append(s.Parts, web.Part{Part: connector.Name() + " shards", OK: true, Why: c.Status().String()})
		}
	}
	if h.upkeep.On() {
		s.Parts = append(s.Parts, web.Part{Part: "upkeep", OK: true, Why: "backups or the erasure fail; the log says why"})
	}
	return s
}

// addConnector adds whether a connector is connected, unless another process is in its place. One that has ended fails also then:
// otherwise nobody would notice before the other process is gone.
func (h *health) addConnector(s *state, connector outerConnector) {
	if why, ended := h.ended.Load(connector.Name()); ended {
		s.add(connector.Name(), true, why.(string))
		return
	}
	why := "not connected"
	if problem := connector.Problem(); problem != "" {
		why += ", " + problem
	}
	fleet := channel.FleetOf(h.hub)
	fails := !connector.Connected() && fleet.Connects(connector)
	s.add(connector.Name(), fails, why)
	if standing := fleet.Standing(connector); standing != "" && !fails {
		s.Parts[len(s.Parts)-1].Why = standing
	}
}

// noteEnd notes why a connector has ended while the bot runs on.
func (h *health) noteEnd(connector string, err error) {
	why := strings.TrimPrefix(fmt.Sprint(err), connector+": ")
	h.ended.Store(connector, "connector ended: "+secrets.Mask(why)+"; then restart the bot")
}

// addDatabase adds what an error of the database means, not its content, and logs each incident once.
func (h *health) addDatabase(ctx context.Context, s *state, i *observe.Incident, err error, what string) {
	if err != nil {
		h.log.Log(ctx, i.Begin(), "database_check_failed", "what", what, "error", err)
	} else if i.End() {
		h.log.Info("database_recovered")
	}
	s.add("database", err != nil, what+"; the log says why")
}

// readVitals reads the database; no conversation waits for it. Concurrent requests share one read. If
// it fails, the values are those of the last one.
func (h *health) readVitals() (store.Vitals, bool) {
	_, err, _ := h.probes.Do("vitals", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), probeTimeout)
		defer cancel()
		now, err := h.store.Upkeep().Vitals(ctx)
		if err == nil {
			h.vitals.Store(&now)
		}
		return nil, err
	})
	if last := h.vitals.Load(); last != nil {
		return *last, err == nil
	}
	return store.Vitals{}, false
}

func newHealth(a *app) *cobra.Command {
	var ready bool
	cmd := &cobra.Command{
		Use:   "health [--ready] [--health ADDRESS]",
		Short: "Check the health of the running bot",
		Long: `Ask the running bot over HTTP, at its health ADDRESS (or its [web] address), whether it is alive;
with --ready, whether it would answer a message now: its connectors are connected, the database can be
written and is not damaged, and the model answered recently. Exit code 1: it is not, and standard output says why, or
nothing answers there.`,
		Example: `  cairn health
  cairn health --ready`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.askHealth(cmd.Context(), ready) },
	}
	a.addHealth(cmd)
	cmd.Flags().BoolVar(&ready, "ready", false, "check whether it would answer, not only whether it is alive")
	return cmd
}

// reachable returns the address at which this machine reaches a server that listens on address.
func reachable(address string) string {
	host, port, _ := net.SplitHostPort(address)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

func (a *app) askHealth(ctx context.Context, ready bool) error {
	address := cmp.Or(a.settings.Health, a.settings.Web.Listen)
	if address == "" {
		return usage(errors.New("no address is known: set health, or listen under [web], or pass --health"))
	}
	path := map[bool]string{false: "/healthz", true: "/readyz"}[ready]
	text, healthy, err := getHealth(ctx, address, path)
	if err != nil {
		return fmt.Errorf("nothing answers at %s: is the bot running, with --health or --web at this address?", address)
	}
	_, err = fmt.Fprintln(a.out, strings.TrimSpace(string(text)))
	if err == nil && !healthy {
		err = errors.New("the bot is not healthy")
	}
	return err
}

// getHealth returns what the bot at address answers, and whether it is healthy.
func getHealth(ctx context.Context, address, path string) (text []byte, healthy bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*probeTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachable(address)+path, nil)
	if err != nil {
		return nil, false, err
	}
	client := &http.Client{Transport: &http.Transport{}} // no proxy
	defer client.CloseIdleConnections()
	resp, err := client.Do(r)
	if err != nil {
		return nil, false, err
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return text, resp.StatusCode == http.StatusOK, err
}
