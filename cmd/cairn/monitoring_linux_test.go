// docs/operations.md, deploy/alerts.yml and deploy/grafana.json, compared with the metrics of a bot.

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"cairn/channel"
	"cairn/llm/prices"
	"cairn/store"
	"cairn/testkit/check"
)

func TestUsageMetrics(t *testing.T) {
	m := newMetrics(func() prices.List {
		return prices.List{"m": {Rates: prices.Rates{Input: 1000, Cached: 100, Write: 2000, Output: 10_000}}}
	})
	m.add(store.Usage{Kind: store.ForTurn, Model: "m", Requests: 2, Tokens: prices.Tokens{Input: 1000, Cached: 400, Written: 100, Output: 10}})
	m.add(store.Usage{Kind: store.ForSummary, Model: "other", Requests: 1, Tokens: prices.Tokens{Input: 50, Output: 5}})
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	for _, line := range []string{
		`requests_total{model="m",work="turn"} 2`, `requests_total{model="other",work="summary"} 1`,
		`tokens_total{kind="input",model="m",work="turn"} 500`, `tokens_total{kind="cached",model="m",work="turn"} 400`,
		`tokens_total{kind="written",model="m",work="turn"} 100`, `tokens_total{kind="output",model="m",work="turn"} 10`,
		`tokens_total{kind="input",model="other",work="summary"} 50`,
		`cost_total{kind="input",model="m",work="turn"} 0.5`, `cost_total{kind="cached",model="m",work="turn"} 0.04`,
		`cost_total{kind="written",model="m",work="turn"} 0.2`, `cost_total{kind="output",model="m",work="turn"} 0.1`,
		`cost_total{kind="output",model="other",work="summary"} 0`,
	} {
		check.Contains(t, "metrics", answer.Body.String(), "\ncairn_model_"+line+"\n")
	}
}

// tool returns the path of a tool of Debian's package prometheus.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: it is in Debian's package prometheus", name)
	}
	return path
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	rules := read(t, checkout+"/deploy/alerts.yml")
	tests := read(t, checkout+"/deploy/alerts_test.yml")
	alerts := strings.Split(rules, "- alert: ")[1:]
	check.That(t, len(alerts) >= 10, "got only %d alerts", len(alerts))
	for _, alert := range alerts {
		name, rest, _ := strings.Cut(alert, "\n")
		check.Contains(t, "alerts_test.yml", tests, `alertname="`+name+`"`)
		check.Contains(t, name, rest, "severity: ", "summary: ", "action: ")
	}
	promtool := tool(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "--lint=all", "--lint-fatal", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = checkout + "/deploy"
		out, err := cmd.CombinedOutput()
		check.That(t, err == nil, "promtool %q: %v\n%s", args, err, out)
	}
}

// TestMetrics compares the metrics of a program that has just started with what the documentation,
// the alerts and the dashboard say of them.
func TestMetrics(t *testing.T) {
	p := newPlatforms(t)
	r := p.folder("[llm]\nfallback = [\"other\"]\n", "OPENAI_BASE_URL="+modelServer(t, saying("yes")).URL).start("run", "--health", "127.0.0.1:0")
	p.open(r)
	address := p.telling(r)
	scraped := ""
	p.until(r, "the model that was chosen has metrics", func() bool {
		_, scraped = get(t, "http://"+address+"/metrics")
		return strings.Contains(scraped, `cairn_model_cost_total{kind="output",model="test-model",work="turn"} 0`) &&
			strings.Contains(scraped, "cairn_model_request_duration_seconds_bucket{")
	})
	check.Lacks(t, "names of models", scraped, `model="127.0.0.1`)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	there := map[string]string{} // metrics: type and labels
	for name, one := range check.Must(parser.TextToMetricFamilies(strings.NewReader(scraped)))(t) {
		labels := []string{}
		for _, label := range one.GetMetric()[0].GetLabel() {
			labels = append(labels, label.GetName())
		}
		there[name] = described(one.GetType().String(), labels)
	}
	t.Run("docs/operations.md lists every metric and every class of errors", func(t *testing.T) {
		page := read(t, checkout+"/docs/operations.md")
		listed := map[string]bool{}
		for _, row := range regexp.MustCompile("(?m)^\\| `(cairn_\\w+)` \\| (\\w+) \\| ([\\w, ]*)\\|").FindAllStringSubmatch(page, -1) {
			listed[row[1]] = true
			check.Equal(t, row[1], described(row[2], separated(row[3])), there[row[1]])
		}
		for name := range there {
			check.That(t, listed[name] || !strings.HasPrefix(name, "cairn_"), "the page lacks %s", name)
		}
		for _, class := range channel.FailureClasses() {
			check.Contains(t, "page", page, "`"+class+"`")
		}
		check.Contains(t, "page", page, "deploy/grafana.json")
	})
	t.Run("alerts and the dashboard use them", func(t *testing.T) { usedMetrics(t, there, scraped) })
	t.Run("Prometheus answers each query of the dashboard", func(t *testing.T) { queriesAnswered(t, address) })
}

func described(kind string, labels []string) string {
	slices.Sort(labels)
	return strings.ToLower(kind) + " " + strings.Join(labels, " ") + " "
}

func separated(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func queries(t *testing.T) (all []string) {
	t.Helper()
	for _, found := range regexp.MustCompile(`"expr": (".*")`).FindAllStringSubmatch(read(t, checkout+"/deploy/grafana.json"), -1) {
		all = append(all, check.Must(strconv.Unquote(found[1]))(t))
	}
	check.Require(t, len(all) >= 20, "got only %d queries", len(all))
	return all
}

var (
	metricNamed = regexp.MustCompile(`\b((?:cairn|go|process)_\w+)(\{[^}]*\})?`)
	matcher     = regexp.MustCompile(`(\w+)(!?=~?)"([^"]*)"`)
	grouping    = regexp.MustCompile(`\b(?:by|without) \(([\w, ]*)\)`)
	suffixed    = regexp.MustCompile(`_(bucket|count|sum)$`)
)

// usedMetrics looks for each metric, label and label value that alerts and the dashboard name.
func usedMetrics(t *testing.T, there map[string]string, scraped string) {
	text := read(t, checkout+"/deploy/alerts.yml") + "\n" + strings.Join(queries(t), "\n")
	asked := map[string]bool{}
	for _, use := range metricNamed.FindAllStringSubmatch(text, -1) {
		name := use[1]
		if there[name] == "" {
			name = suffixed.ReplaceAllString(name, "")
		}
		asked[name] = true
		check.That(t, there[name] != "", "got no metric %s", use[1])
		for _, m := range matcher.FindAllStringSubmatch(use[2], -1) {
			if m[1] == "instance" || m[1] == "job" {
				continue
			}
			check.Contains(t, "labels of "+name, there[name], " "+m[1]+" ")
			for value := range strings.SplitSeq(m[3], "|") {
				found := regexp.MustCompile(`(?m)^` + name + `\{(.*,)?` + m[1] + `="` + value + `"`).MatchString(scraped)
				check.That(t, found, "%s has no %s=%q", name, m[1], value)
			}
		}
	}
	labels := " instance job le " // of Prometheus
	for name, is := range there {
		labels += is
		check.That(t, !strings.HasPrefix(name, "cairn_") || asked[name], "neither an alert nor the dashboard uses %s", name)
	}
	for _, group := range grouping.FindAllStringSubmatch(text, -1) {
		for _, label := range separated(group[1]) {
			check.Contains(t, group[0], labels, " "+label+" ")
		}
	}
}

// queriesAnswered lets Prometheus scrape the metrics at an address, and queries it.
func queriesAnswered(t *testing.T, metrics string) {
	program := tool(t, "prometheus")
	dir := t.TempDir()
	address := freeAddress(t)
	settings := fmt.Sprintf("global: {scrape_interval: 200ms}\nrule_files: [%q]\nscrape_configs: [{job_name: cairn, static_configs: [{targets: [%q]}]}]\n",
		filepath.Join(checkout, "deploy", "alerts.yml"), metrics)
	check.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(settings), 0o600))
	cmd := exec.CommandContext(t.Context(), program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	var out check.Buffer
	cmd.Stderr = &out
	check.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	eventually(t, "Prometheus has started", out.String, func() bool {
		resp, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	answered := func(query string) bool { // one scrape may fail: a busy machine takes longer than the interval
		return check.Soon(func() bool {
			code, body := get(t, "http://"+address+"/api/v1/query?query="+url.QueryEscape(query))
			check.Equal(t, query+": "+body, code, http.StatusOK)
			return !strings.Contains(body, `"result":[]`) || strings.HasSuffix(query, "> 0")
		})
	}
	check.Require(t, answered(`sum_over_time(up{job="cairn"}[1m]) >= 3`), "Prometheus scrapes nothing")
	inGrafana := strings.NewReplacer("$instance", ".*", "$__rate_interval", "1m", "$__interval", "1m", "24h", "1m")
	for _, query := range queries(t) {
		check.Require(t, answered(inGrafana.Replace(query)), "got no result for %s", query)
	}
}
