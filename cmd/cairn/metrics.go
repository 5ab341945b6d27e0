// Prometheus metrics of a running bot: counters and histograms.

package main

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/hooks"
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
	fallbacks              *prometheus.CounterVec
	turnTime, firstToken   prometheus.Observer
	tools                  *prometheus.CounterVec
	requests, tokens, cost *prometheus.CounterVec
	errors                 *prometheus.CounterVec
	requestTime            *prometheus.HistogramVec
	compactions, hooks     *prometheus.CounterVec
	summaryLines           *prometheus.CounterVec
	summaryTime            *prometheus.HistogramVec
	searches               *prometheus.CounterVec
}

var _ observe.Observer = (*metrics)(nil)

// Upper bounds of the buckets, in seconds. A model may think for minutes; extracts take milliseconds.
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
	m.turnErrors = counter("turns_failed_total", "Turns that failed, by class of the error.", "class")
	m.fallbacks = counter("fallback_answers_total", "Turns that a model of an agent's fallback answered.", "model")
	m.turnTime = timer("turn_duration", "Time of a turn until its reply or an explanation is stored.", answerTimes).WithLabelValues()
	m.firstToken = timer("turn_first_token", "Time of a turn until the first text of the model.", firstTimes).WithLabelValues()
	m.tools = counter("tool_calls_total", "Tool calls by the model that answers.", "tool", "result")
	m.requests = counter("model_requests_total", "Requests that models answered, and failed ones that the provider counted.", "work", "model")
	m.tokens = counter("model_tokens_total", "Tokens of these requests, as the provider counts them; each token has one kind.", "work", "model", "kind")
	m.cost = counter("model_cost_total", "Cost of these tokens, in US dollars.", "work", "model", "kind")
	m.errors = counter("model_errors_total", "Failed requests to models, retries included, by class of the error.", "work", "class")
	m.requestTime = timer("model_request_duration", "Time of a request to a model, retries included.", answerTimes, "work", "model")
	m.compactions = counter("compactions_total", "Steps of compactions.", "state", "trigger")
	m.summaryLines = counter("summary_lines_total", "Lines of summaries that were applied, by what they rest on, and those that were dropped.", "evidence")
	m.searches = counter("searches_total", "Searches with embeddings, by what found something: the words alone if the server made no vector in time.", "by")
	m.hooks = counter("hook_calls_total", "Calls of hooks, by outcome.", "hook", "outcome")
	m.summaryTime = timer("summary_duration", "Time to write a summary, in the background.", summaryTimes, "by")
	build := prometheus.Labels{"version": version(), "goversion": runtime.Version()}
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "cairn_build_info", Help: "Always 1; the labels identify the build.", ConstLabels: build})
	info.Set(1)
	m.registry.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.begin()
	return m
}

// tokenKinds are the values of the label kind. "input" excludes tokens read from the cache.
var tokenKinds = []string{"input", "cached", "written", "output"}

// begin creates all values of the fixed labels: Prometheus does not see the first rise of a new counter.
func (m *metrics) begin() {
	for _, outcome := range observe.Outcomes {
		m.turns.WithLabelValues(outcome)
	}
	for _, class := range channel.FailureClasses() {
		m.turnErrors.WithLabelValues(class)
	}
	create(m.errors, []string{store.ForTurn, store.ForSummary}, channel.FailureClasses())
	create(m.tools, append(channel.ToolNames(), "unknown"), []string{"ok", "error"})
	create(m.compactions, compactor.EventStates, compactor.Triggers)
	for _, evidence := range lineKinds {
		m.summaryLines.WithLabelValues(evidence)
	}
	for _, by := range searchedBy {
		m.searches.WithLabelValues(by)
	}
	create(m.hooks, hooks.Names, hooks.Outcomes)
	m.summaryTime.WithLabelValues(string(compactor.ByWorker))
	m.summaryTime.WithLabelValues(string(compactor.ByExtractive))
}

// lineKinds are the values of the label evidence. A dropped line is one that the messages contradicted.
var lineKinds = []string{"messages", "beside", "none", "dropped"}

// create makes the series of all pairs of label values.
func create[A, B ~string](v *prometheus.CounterVec, first []A, second []B) {
	for _, a := range first {
		for _, b := range second {
			v.WithLabelValues(string(a), string(b))
		}
	}
}

// expect creates the series of an agent's models before their first request.
func (m *metrics) expect(agent channel.Agent) {
	if agent.Worker != nil {
		m.add(store.Usage{Kind: store.ForSummary, Model: agent.Worker.Name()})
	}
	for _, model := range agent.Fallback {
		m.fallbacks.WithLabelValues(model.Name())
	}
	for _, model := range agent.Answering() {
		m.add(store.Usage{Kind: store.ForTurn, Model: model.Name()})
	}
}

// add counts the usage of model requests, at the current price.
func (m *metrics) add(u store.Usage) {
	m.requests.WithLabelValues(u.Kind, u.Model).Add(float64(u.Requests))
	m.requestTime.WithLabelValues(u.Kind, u.Model)
	price, _ := m.prices().Of(u.Model)
	for i, part := range []prices.Tokens{
		{Input: u.Uncached()}, {Input: u.Cached, Cached: u.Cached}, {Input: u.Written, Written: u.Written}, {Output: u.Output},
	} {
		m.tokens.WithLabelValues(u.Kind, u.Model, tokenKinds[i]).Add(float64(part.Input + part.Output))
		m.cost.WithLabelValues(u.Kind, u.Model, tokenKinds[i]).Add(price.Cost(part, u.Long))
	}
}

// searchedBy are the values of the label by.
var searchedBy = map[bool]string{true: "meaning", false: "words"}

// asked counts a search.
func (m *metrics) asked(byMeaning bool) { m.searches.WithLabelValues(searchedBy[byMeaning]).Inc() }

func (m *metrics) hook(name, outcome string) { m.hooks.WithLabelValues(name, outcome).Inc() }

func (m *metrics) compaction(e channel.Event) {
	m.compactions.WithLabelValues(string(e.State), string(e.Trigger)).Inc()
	for _, row := range e.Set {
		if row.ID == e.ID && e.State == compactor.EventApplied {
			m.lines(row)
		}
	}
}

// lines counts the lines of a new summary, without those of people.
func (m *metrics) lines(row compactor.Summary) {
	m.summaryLines.WithLabelValues("dropped").Add(float64(row.Dropped))
	for _, l := range row.Lines {
		switch {
		case !l.HasEvidence():
			m.summaryLines.WithLabelValues("none").Inc()
		case l.By == "" && l.Beside:
			m.summaryLines.WithLabelValues("beside").Inc()
		case l.By == "":
			m.summaryLines.WithLabelValues("messages").Inc()
		}
	}
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
			result := map[bool]string{true: "ok", false: "error"}[s.Err == nil]
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
	if model := s.Attr("fallback"); model != "" {
		m.fallbacks.WithLabelValues(model).Inc()
	}
	if slices.Contains([]string{observe.Answered, observe.Failed}, outcome) {
		m.turnTime.Observe(took)
	}
	if s.First > 0 {
		m.firstToken.Observe(s.First.Seconds())
	}
}

func workOf(s *observe.Step) string {
	if s.Parent != nil && s.Parent.Kind == observe.Compaction {
		return store.ForSummary
	}
	return store.ForTurn
}
