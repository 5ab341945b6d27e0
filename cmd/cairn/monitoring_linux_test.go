// deploy/alerts.yml and deploy/grafana.json, compared with the metrics of a bot.

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cairn/internal/check"
)

// tool returns the path of a tool of Debian's package prometheus.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: it is in Debian's package prometheus", name)
	}
	return path
}

func TestAlertsPassPromtool(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "--lint=all", "--lint-fatal", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = checkout + "/deploy"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
}

// TestEachAlertIsTested checks that each alert fires in alerts_test.yml, and says what to do.
func TestEachAlertIsTested(t *testing.T) {
	rules, tests := read(t, checkout+"/deploy/alerts.yml"), read(t, checkout+"/deploy/alerts_test.yml")
	alerts := strings.Split(rules, "- alert: ")[1:]
	check.Require(t, len(alerts) >= 10, "got only %d alerts", len(alerts))
	for _, alert := range alerts {
		name, rest, _ := strings.Cut(alert, "\n")
		check.Contains(t, "alerts_test.yml", tests, `alertname="`+name+`"`)
		check.Contains(t, name, rest, "severity: ", "summary: ", "action: ")
	}
}

// queries returns the queries of the dashboard, by the title of their panel.
func queries(t *testing.T) (all map[string][]string) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Annotations struct{ List []struct{ Name, Expr string } }
	}
	check.NoError(t, json.Unmarshal([]byte(read(t, checkout+"/deploy/grafana.json")), &dashboard))
	all = map[string][]string{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			all[panel.Title] = append(all[panel.Title], target.Expr)
		}
	}
	for _, annotation := range dashboard.Annotations.List {
		all[annotation.Name] = append(all[annotation.Name], annotation.Expr)
	}
	check.Require(t, len(all) >= 20, "got only %d panels", len(all))
	return all
}

var (
	metricNamed = regexp.MustCompile(`\b((?:cairn|go|process)_\w+)(\{[^}]*\})?`)
	matcher     = regexp.MustCompile(`(\w+)(!?=~?)"([^"]*)"`)
	grouping    = regexp.MustCompile(`\b(?:by|without) \(([\w, ]*)\)`)
)

// TestAlertsAndDashboardUseExistingMetrics looks for each metric, label and label value in the
// metrics of a bot that has just started.
func TestAlertsAndDashboardUseExistingMetrics(t *testing.T) {
	text := read(t, checkout+"/deploy/alerts.yml")
	for _, list := range queries(t) {
		text += "\n" + strings.Join(list, "\n")
	}
	docs := read(t, checkout+"/docs/operations.md")
	s := startBot(t, "")
	answer := scrape(t, s.bot)
	there := familiesOf(t, answer)
	labels := []string{"instance", "job", "le"} // of Prometheus
	for _, f := range there {
		labels = append(labels, f.labels...)
	}
	asked := map[string]bool{}
	for _, use := range metricNamed.FindAllStringSubmatch(text, -1) {
		name := use[1]
		if _, found := there[name]; !found {
			name = regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
		}
		f, found := there[name]
		if asked[name] = true; !found {
			t.Errorf("got no metric %s", use[1])
		}
		for _, m := range matcher.FindAllStringSubmatch(use[2], -1) {
			if m[1] == "instance" || m[1] == "job" {
				continue
			}
			if !slices.Contains(f.labels, m[1]) {
				t.Errorf("%s has no label %s", name, m[1])
			}
			for value := range strings.SplitSeq(m[3], "|") {
				if !regexp.MustCompile(`(?m)^` + name + `\{(.*,)?` + m[1] + `="` + value + `"`).MatchString(answer) {
					t.Errorf("%s has no %s=%q", name, m[1], value)
				}
			}
		}
	}
	for _, group := range grouping.FindAllStringSubmatch(text, -1) {
		for label := range strings.FieldsFuncSeq(group[1], func(r rune) bool { return r == ',' || r == ' ' }) {
			if !slices.Contains(labels, label) {
				t.Errorf("%s: got no label %s", group[0], label)
			}
		}
	}
	for name := range there {
		check.That(t, !strings.HasPrefix(name, "cairn_") || asked[name], "neither an alert nor the dashboard uses %s", name)
	}
	check.Contains(t, "page", docs, "deploy/grafana.json")
}

// TestPrometheusAnswersEachQueryOfTheDashboard lets Prometheus scrape a bot, and queries it.
func TestPrometheusAnswersEachQueryOfTheDashboard(t *testing.T) {
	prometheus := tool(t, "prometheus")
	all := queries(t)
	rules := check.Must(filepath.Abs(checkout + "/deploy/alerts.yml"))(t)
	s := startBot(t, "")
	server := httptest.NewServer(metricsOf(t, s.bot))
	defer server.Close()
	ask := runPrometheus(t, prometheus, rules, strings.TrimPrefix(server.URL, "http://"))
	if !check.Soon(func() bool { return len(ask(`sum_over_time(up{job="cairn"}[1m]) >= 3`)) > 0 }) {
		t.Fatal("Prometheus scrapes nothing")
	}
	inGrafana := strings.NewReplacer("$instance", ".*", "$__rate_interval", "1m", "$__interval", "1m", "24h", "1m")
	for title, list := range all {
		for _, query := range list {
			// One scrape may fail: a busy machine takes longer than the interval.
			if !check.Soon(func() bool { return len(ask(inGrafana.Replace(query))) > 0 || strings.HasSuffix(query, "> 0") }) {
				t.Fatalf("%s: got no result for %s", title, query)
			}
		}
	}
}

// runPrometheus runs Prometheus on the metrics at an address, and returns a query function.
func runPrometheus(t *testing.T, program, rules, at string) (ask func(query string) []any) {
	t.Helper()
	dir := t.TempDir()
	settings := fmt.Sprintf("global: {scrape_interval: 500ms}\nrule_files: [%q]\nscrape_configs: [{job_name: cairn, static_configs: [{targets: [%q]}]}]\n", rules, at)
	check.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(settings), 0o600))
	free := check.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := free.Addr().String()
	check.NoError(t, free.Close())
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
	return func(query string) []any {
		t.Helper()
		code, body := get(t, "http://"+address+"/api/v1/query?query="+url.QueryEscape(query))
		var answer struct{ Data struct{ Result []any } }
		if err := json.Unmarshal([]byte(body), &answer); code != http.StatusOK || err != nil {
			t.Errorf("%s: %d, %s", query, code, body)
		}
		return answer.Data.Result
	}
}
