package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/internal/check"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"cairn/channel"
	"cairn/llm/llmtest"
	"cairn/llm/prices"
	"cairn/store"
)

// measured are metrics with round prices.
func measured() *metrics {
	return newMetrics(func() prices.List { return prices.List{"m": {Input: 1000, Cached: 100, Write: 2000, Output: 10_000}} })
}

// has fails unless a scrape contains the lines.
func (m *metrics) has(t *testing.T, lines ...string) {
	t.Helper()
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	text := answer.Body.String()
	for _, line := range lines {
		check.Contains(t, fmt.Sprintf("metric %s", line), text, line+"\n")
	}
}

func TestUsageMetrics(t *testing.T) {
	m := measured()
	m.add(store.Usage{Kind: store.ForTurn, Model: "m", Requests: 2, Input: 1000, Cached: 400, Written: 100, Output: 10})
	m.add(store.Usage{Kind: store.ForSummary, Model: "other", Requests: 1, Input: 50, Output: 5})
	m.has(t,
		`cairn_model_requests_total{model="m",work="turn"} 2`,
		`cairn_model_requests_total{model="other",work="summary"} 1`,
		`cairn_model_tokens_total{kind="input",model="m",work="turn"} 500`,
		`cairn_model_tokens_total{kind="cached",model="m",work="turn"} 400`,
		`cairn_model_tokens_total{kind="written",model="m",work="turn"} 100`,
		`cairn_model_tokens_total{kind="output",model="m",work="turn"} 10`,
		`cairn_model_tokens_total{kind="input",model="other",work="summary"} 50`,
		`cairn_model_cost_total{kind="input",model="m",work="turn"} 0.5`,
		`cairn_model_cost_total{kind="cached",model="m",work="turn"} 0.04`,
		`cairn_model_cost_total{kind="written",model="m",work="turn"} 0.2`,
		`cairn_model_cost_total{kind="output",model="m",work="turn"} 0.1`,
		`cairn_model_cost_total{kind="output",model="other",work="summary"} 0`,
	)
}

// Until the model is chosen from what the server offers, it has the server's name.
func TestMetricsNameTheChosenModel(t *testing.T) {
	server := modelServer(t, func(x *llmtest.Exchange) { x.Say("yes") })
	text := scrape(t, startBot(t, fmt.Sprintf("[llm]\nbase_url = %q\n", server.URL)).bot)
	check.Contains(t, "metrics", text, `cairn_model_requests_total{model="test-model",work="turn"} 0`, `cairn_model_requests_total{model="test-model",work="summary"} 0`)
	check.That(t, !strings.Contains(text, `model="127.0.0.1`), "the server is a model in\n%s", text)
}

// onlineConnector is a connector to a platform that is there.
type onlineConnector struct{ outerConnector }

func (onlineConnector) Name() string    { return "discord" }
func (onlineConnector) Connected() bool { return true }

// metricsOf serves the metrics of a bot; call it once per bot.
func metricsOf(t *testing.T, b *bot) http.Handler {
	return b.newHealth(t.Context(), []outerConnector{onlineConnector{}}).handler()
}

// scrape returns what Prometheus reads from a bot without any messages, once its models are known.
func scrape(t *testing.T, b *bot) (text string) {
	t.Helper()
	metrics := metricsOf(t, b)
	read := func() string {
		answer := httptest.NewRecorder()
		metrics.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		check.Equal(t, "status", answer.Code, 200)
		text = answer.Body.String()
		return text
	}
	eventually(t, "the metrics of the model exist", read, func() bool {
		last := fmt.Sprintf(`cairn_model_cost_total{kind="output",model=%q,work="turn"}`, b.current.Load().agents["cairn"].Model.Name())
		return strings.Contains(read(), last)
	})
	return text
}

// family is a metric as the operations page describes it.
type family struct {
	kind   string
	labels []string
}

// familiesOf returns the metrics of a scrape, by name.
func familiesOf(t *testing.T, text string) map[string]family {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	read := check.Must(parser.TextToMetricFamilies(strings.NewReader(text)))(t)
	all := map[string]family{}
	for name, one := range read {
		f := family{kind: strings.ToLower(one.GetType().String()), labels: []string{}}
		for _, label := range one.GetMetric()[0].GetLabel() {
			f.labels = append(f.labels, label.GetName())
		}
		slices.Sort(f.labels)
		all[name] = f
	}
	return all
}

func TestOperationsPageListsEveryMetric(t *testing.T) {
	page := read(t, checkout+"/docs/operations.md")
	s := startBot(t, "")
	want := map[string]family{}
	for name, f := range familiesOf(t, scrape(t, s.bot)) {
		if strings.HasPrefix(name, "cairn_") {
			want[name] = f
		}
	}
	got := map[string]family{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(cairn_\\w+)` \\| (\\w+) \\| ([\\w, ]*)\\|").FindAllStringSubmatch(page, -1) {
		labels := strings.FieldsFunc(row[3], func(r rune) bool { return r == ',' || r == ' ' })
		slices.Sort(labels)
		got[row[1]] = family{row[2], append([]string{}, labels...)}
	}
	if !maps.EqualFunc(got, want, func(a, b family) bool { return a.kind == b.kind && slices.Equal(a.labels, b.labels) }) {
		t.Errorf("docs/operations.md lists\n%v\nwant\n%v", got, want)
	}
}

func TestOperationsPageListsEveryClassOfErrors(t *testing.T) {
	page := read(t, checkout+"/docs/operations.md")
	for _, class := range channel.FailureClasses() {
		check.Contains(t, "page", page, "`"+class+"`")
	}
}
