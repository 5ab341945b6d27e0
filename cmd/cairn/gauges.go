// What each request to /metrics reads from the hub and the database; traces.

package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"cairn/channel"
	"cairn/config"
	"cairn/internal/observe"
	"cairn/internal/otlp"
	"cairn/llm"
	"cairn/store"
)

// vitals are values from the database.
type vitals struct {
	store.Vitals
	readable bool // whether the last read succeeded; if not, the values are older
}

// serveMetrics returns the handler of /metrics, and registers the gauges that it reads on each
// request.
func (h *health) serveMetrics() http.Handler {
	h.vitals.Store(&vitals{})
	h.registerHub()
	h.registerDatabase()
	handler := promhttp.HandlerFor(h.bot.metrics.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.readVitals(r.Context())
		handler.ServeHTTP(w, r)
	})
}

func (h *health) gauge(name, help string, labels prometheus.Labels, value func() float64) {
	h.bot.metrics.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "cairn_" + name, Help: help, ConstLabels: labels}, value))
}

func (h *health) registerHub() {
	hub := h.bot.hub
	h.gauge("conversations_open", "Conversations in memory.", nil, func() float64 { return float64(hub.Stats().Open) })
	h.gauge("conversations_stuck", "Conversations that cannot continue; the log says why.", nil, func() float64 { return float64(hub.Stats().Stuck) })
	h.gauge("conversations_refused", "Conversations whose next reply was refused and is retried.", nil, func() float64 { return float64(hub.Stats().Refused) })
	h.gauge("turns_failing", "Turns that failed since the last answer.", nil, func() float64 { return float64(hub.Stats().Failing) })
	h.gauge("window_fill_ratio", "How full the fullest window of the open conversations is; 1: full.", nil, hub.Operator().Fullest)
	for period, setting := range map[string]string{"day": "budget_per_day", "month": "budget_per_month"} {
		of := func(value func(channel.Budget) float64) func() float64 {
			return func() float64 {
				for _, b := range hub.Operator().Budgets() {
					if b.Setting == setting {
						return value(b)
					}
				}
				return 0
			}
		}
		labels := prometheus.Labels{"period": period}
		h.gauge("budget_limit", "What may be spent, in the currency of the prices; 0: no budget is set.", labels, of(func(b channel.Budget) float64 { return b.Limit }))
		h.gauge("budget_spent", "What was spent of it; 0: no budget is set.", labels, of(func(b channel.Budget) float64 { return b.Spent }))
	}
	h.gauge("upkeep_failing", "1 while backups or the erasure of deleted text fail.", nil, func() float64 { return boolean(h.bot.upkeepFailure.On()) })
	h.bot.metrics.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "cairn_replies_dropped_total", Help: "Pieces of replies that were given up.",
	}, func() float64 { return float64(hub.Stats().Dropped) }))
	for _, connector := range h.connectors {
		h.gauge("connector_connected", "1 if the connector is connected.", prometheus.Labels{"connector": connector.Name()}, func() float64 { return boolean(connector.Connected()) })
	}
}

func (h *health) registerDatabase() {
	of := func(value func(v *vitals) float64) func() float64 {
		return func() float64 { return value(h.vitals.Load()) }
	}
	h.gauge("database_readable", "1 if the database could be read; if not, the numbers about it are old.", nil, of(func(v *vitals) float64 { return boolean(v.readable) }))
	h.gauge("inbox_messages", "Messages that wait for their conversation.", nil, of(func(v *vitals) float64 { return float64(v.Inbox) }))
	h.gauge("inbox_oldest_seconds", "How long the oldest of them waits; 0: there is none.", nil, of(func(v *vitals) float64 { return age(v.InboxOldest) }))
	h.gauge("outbox_pieces", "Pieces of replies that wait to be sent.", nil, of(func(v *vitals) float64 { return float64(v.Outbox) }))
	h.gauge("outbox_oldest_seconds", "How long the oldest of them waits; 0: there is none.", nil, of(func(v *vitals) float64 { return age(v.OutboxOldest) }))
	for _, state := range []string{"active", "superseded", "forgotten", "replaced"} {
		h.gauge("memories", "Memories, by state.", prometheus.Labels{"state": state}, of(func(v *vitals) float64 { return float64(v.Memories[state]) }))
	}
	h.gauge("database_bytes", "Size of the database, and of its write-ahead log.", prometheus.Labels{"file": "database"}, of(func(v *vitals) float64 { return float64(v.Bytes) }))
	h.gauge("database_bytes", "Size of the database, and of its write-ahead log.", prometheus.Labels{"file": "log"}, of(func(v *vitals) float64 { return float64(v.LogBytes) }))
	h.gauge("disk_free_bytes", "Free space on the disk of the database.", nil, of(func(v *vitals) float64 { return float64(v.Free) }))
}

// readVitals reads the database; no conversation waits for it. Concurrent requests share one read.
func (h *health) readVitals(ctx context.Context) {
	_, _, _ = h.probes.Do("vitals", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
		defer cancel()
		now, err := h.bot.store.Upkeep().Vitals(ctx)
		if err != nil {
			now = h.vitals.Load().Vitals
		}
		h.vitals.Store(&vitals{now, err == nil})
		return nil, nil
	})
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// age returns how many seconds ago t was; 0 for the zero time.
func age(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(time.Since(t).Seconds(), 0)
}

// observer returns the observer of a bot's steps: its metrics, and traces if the environment
// configures them. Otherwise traces are nil.
func (a *app) observer(ctx context.Context, log *slog.Logger, m *metrics) (observe.Observer, *otlp.Traces, error) {
	endpoint, err := otlp.Endpoint()
	if err != nil {
		return nil, nil, usage(err)
	}
	if endpoint == "" {
		return m, nil, nil
	}
	for _, headers := range []string{os.Getenv("OTEL_EXPORTER_OTLP_HEADERS"), os.Getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS")} {
		for header := range strings.SplitSeq(headers, ",") {
			_, value, _ := strings.Cut(header, "=")
			a.secrets.learn(strings.TrimSpace(value))
		}
	}
	var failing llm.Incident
	traces, err := otlp.Open(ctx, otlp.Options{Version: version(), Class: channel.FailureClass, Sent: func(err error) {
		if err != nil {
			log.Log(ctx, failing.Begin(), "send_traces_failed", "error", err, "effect", "traces are lost until the collector answers")
		} else if failing.End() {
			log.Info("send_traces_recovered")
		}
	}})
	if err != nil {
		return nil, nil, usage(err)
	}
	log.Info("traces_sent", "endpoint", config.ShownAddress(endpoint))
	return observe.All{m, traces}, traces, nil
}

// closeTraces sends the queued spans, for at most otlp.CloseTimeout.
func (b *bot) closeTraces() {
	if b.traces == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), otlp.CloseTimeout)
	defer cancel()
	b.traces.Close(ctx)
}
