// Prometheus metrics of a running bot: counters and histograms, and gauges read from the hub and the database.

package main

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"cairn/channel"
	"cairn/compactor"
	"cairn/hooks"
	"cairn/internal/observe"
	"cairn/llm/prices"
	"cairn/store"
)

// metrics collects the counters and histograms. Labels never contain what people write: models and
// connectors come from the settings, tools from the program, all others from fixed lists.
type metrics struct {
	registry *prometheus.Registry
	prices   func() prices.List // the current price list

	turns, turnErrors      *prometheus.CounterVec
	turnTime, firstToken   prometheus.Histogram
	tools                  *prometheus.CounterVec
	requests, tokens, cost *prometheus.CounterVec
	errors                 *prometheus.CounterVec
	requestTime            *prometheus.HistogramVec
	compactions, hooks     *prometheus.CounterVec
	summaryTime            *prometheus.HistogramVec
}

var _ observe.Observer = (*metrics)(nil)

// Upper bounds of the buckets, in seconds. A local model may think for minutes; the extractive
// summarizer takes milliseconds.
var (
	answerTimes  = []float64{0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600}
	firstTimes   = []float64{0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120}
	summaryTimes = []float64{0.01, 0.05, 0.25, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600}
)

func newMetrics(list func() prices.List) *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), prices: list}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "cairn_" + name, Help: help}, labels)
		m.registry.MustRegister(v)
		return v
	}
	timer := func(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "cairn_" + name + "_seconds", Help: help, Buckets: bounds}, labels)
		m.registry.MustRegister(v)
		return v
	}
	m.turns = counter("turns_total", "Turns, by outcome.", "outcome")
	m.turnErrors = counter("turns_failed_total", "Turns that ended with an explanation instead of an answer, by class of the error.", "class")
	m.turnTime = timer("turn_duration", "Time of a turn until its reply is stored, or the explanation why there is none.", answerTimes).WithLabelValues().(prometheus.Histogram)
	m.firstToken = timer("turn_first_token", "Time of a turn until the first text of the model.", firstTimes).WithLabelValues().(prometheus.Histogram)
	m.tools = counter("tool_calls_total", "Calls of tools by the model that answers.", "tool", "result")
	m.requests = counter("model_requests_total", "Requests that models answered, or counted and failed.", "work", "model")
	m.tokens = counter("model_tokens_total", "Tokens of these, as the provider counts them; none is of two kinds.", "work", "model", "kind")
	m.cost = counter("model_cost_total", "What these tokens cost, in the currency of the prices.", "work", "model", "kind")
	m.errors = counter("model_errors_total", "Requests to models that failed, retries included, by class of the error.", "work", "class")
	m.requestTime = timer("model_request_duration", "Time of a request to a model, retries included.", answerTimes, "work", "model")
	m.compactions = counter("compactions_total", "Steps of compactions.", "state", "trigger")
	m.hooks = counter("hook_calls_total", "Calls of hooks, by outcome.", "hook", "outcome")
	m.summaryTime = timer("summary_duration", "Time to make a summary, in the background.", summaryTimes, "by")
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "cairn_build_info", Help: "1; the labels say which build runs.", ConstLabels: prometheus.Labels{"version": version(), "goversion": runtime.Version()}})
	info.Set(1)
	m.registry.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.begin()
	return m
}

// tokenKinds are the values of the label kind. "input" excludes tokens read from the cache.
var tokenKinds = []string{"input", "cached", "written", "output"}

// begin creates all values of the fixed labels: Prometheus cannot detect the rise of a counter that
// did not exist before.
func (m *metrics) begin() {
	for _, outcome := range observe.Outcomes {
		m.turns.WithLabelValues(outcome)
	}
	for _, class := range channel.FailureClasses() {
		m.turnErrors.WithLabelValues(class)
		m.errors.WithLabelValues(store.ForTurn, class)
		m.errors.WithLabelValues(store.ForSummary, class)
	}
	for _, tool := range append(channel.ToolNames(), "unknown") {
		m.tools.WithLabelValues(tool, "ok")
		m.tools.WithLabelValues(tool, "error")
	}
	for _, state := range compactor.EventStates {
		for _, trigger := range compactor.Triggers {
			m.compactions.WithLabelValues(string(state), string(trigger))
		}
	}
	for _, name := range hooks.Names {
		for _, outcome := range hooks.Outcomes {
			m.hooks.WithLabelValues(name, outcome)
		}
	}
	m.summaryTime.WithLabelValues(string(compactor.ByWorker))
	m.summaryTime.WithLabelValues(string(compactor.ByExtractive))
}

// expect creates the series of an agent's models before their first request.
func (m *metrics) expect(agent channel.Agent) {
	if agent.Worker != nil {
		m.add(store.Usage{Kind: store.ForSummary, Model: agent.Worker.Name()})
	}
	m.add(store.Usage{Kind: store.ForTurn, Model: agent.Model.Name()})
}

// add counts the usage of model requests, at the current price.
func (m *metrics) add(u store.Usage) {
	m.requests.WithLabelValues(u.Kind, u.Model).Add(float64(u.Requests))
	m.requestTime.WithLabelValues(u.Kind, u.Model)
	price, _ := m.prices().Of(u.Model)
	all := prices.Tokens{Input: u.Input, Cached: u.Cached, Written: u.Written, Output: u.Output}
	for i, part := range []prices.Tokens{
		{Input: all.Uncached()}, {Input: all.Cached, Cached: all.Cached}, {Input: all.Written, Written: all.Written}, {Output: all.Output},
	} {
		m.tokens.WithLabelValues(u.Kind, u.Model, tokenKinds[i]).Add(float64(part.Input + part.Output))
		m.cost.WithLabelValues(u.Kind, u.Model, tokenKinds[i]).Add(price.Cost(part))
	}
}

func (m *metrics) hook(name, outcome string) { m.hooks.WithLabelValues(name, outcome).Inc() }

func (m *metrics) compaction(e channel.Event) {
	m.compactions.WithLabelValues(string(e.State), string(e.Trigger)).Inc()
}

// Begin does nothing: steps are measured when they end.
func (m *metrics) Begin(ctx context.Context, _ *observe.Step) context.Context { return ctx }

// Event does nothing: events are counted where they happen.
func (m *metrics) Event(*observe.Step, string, []slog.Attr) {}

// End measures a step.
func (m *metrics) End(s *observe.Step) {
	took := time.Since(s.Began).Seconds()
	switch s.Kind {
	case observe.Turn:
		m.turn(s, took)
	case observe.Request:
		work := workOf(s)
		m.requestTime.WithLabelValues(work, s.Attr("model")).Observe(took)
		if s.Err != nil {
			m.errors.WithLabelValues(work, channel.FailureClass(s.Err)).Inc()
		}
	case observe.Tool:
		if workOf(s) == store.ForTurn {
			result := "ok"
			if s.Err != nil {
				result = "error"
			}
			m.tools.WithLabelValues(s.Attr("tool"), result).Inc()
		}
	case observe.Compaction:
		if s.Err == nil {
			m.summaryTime.WithLabelValues(s.Attr("by")).Observe(took)
		}
	}
}

func (m *metrics) turn(s *observe.Step, took float64) {
	outcome := s.Attr("outcome")
	m.turns.WithLabelValues(outcome).Inc()
	if outcome == observe.Failed {
		m.turnErrors.WithLabelValues(channel.FailureClass(s.Err)).Inc()
	}
	if slices.Contains([]string{observe.Answered, observe.Failed}, outcome) {
		m.turnTime.Observe(took)
	}
	if s.First > 0 {
		m.firstToken.Observe(s.First.Seconds())
	}
}

// workOf returns the kind of work that a request or tool call belongs to.
func workOf(s *observe.Step) string {
	if s.Parent != nil && s.Parent.Kind == observe.Compaction {
		return store.ForSummary
	}
	return store.ForTurn
}

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
		budget := func() (found channel.Budget) {
			for _, b := range hub.Operator().Budgets() {
				if b.Setting == setting {
					found = b
				}
			}
			return found
		}
		labels := prometheus.Labels{"period": period}
		h.gauge("budget_limit", "What may be spent, in the currency of the prices; 0: no budget is set.", labels, func() float64 { return budget().Limit })
		h.gauge("budget_spent", "What was spent of it; 0: no budget is set.", labels, func() float64 { return budget().Spent })
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
	const sizes = "Size of the database, and of its write-ahead log."
	h.gauge("database_bytes", sizes, prometheus.Labels{"file": "database"}, of(func(v *vitals) float64 { return float64(v.Bytes) }))
	h.gauge("database_bytes", sizes, prometheus.Labels{"file": "log"}, of(func(v *vitals) float64 { return float64(v.LogBytes) }))
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
