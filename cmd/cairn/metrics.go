// Metrics: numbers of a running bot, for Prometheus.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"

	"cairn/channel"
	"cairn/llm/prices"
	"cairn/memory"
)

// compactions counts the steps of compactions, by state.
type compactions struct {
	mu     sync.Mutex // guards counts
	counts map[string]int
}

func (c *compactions) happened(_ string, e channel.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = make(map[string]int)
	}
	c.counts[string(e.State)]++
}

func (c *compactions) all() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}

// metrics tells numbers in Prometheus' text form (Prometheus, Exposition Formats).
func (h *health) metrics(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s := h.bot.hub.Stats()
	tell := func(name, kind, help string, value any) {
		metricHead(w, name, kind, help)
		fmt.Fprintf(w, "cairn_%s %v\n", name, value)
	}
	tell("conversations_open", "gauge", "Conversations in memory.", s.Open)
	tell("conversations_stuck", "gauge", "Conversations that cannot go on just now.", s.Stuck)
	tell("conversations_refused", "gauge", "Conversations whose next reply could not be sent and is tried again.", s.Refused)
	tell("replies_dropped_total", "counter", "Pieces of replies that were given up.", s.Dropped)
	tell("turns_total", "counter", "Turns that were answered.", s.Turns)
	tell("turns_failed_total", "counter", "Turns that ended in words on why there is no answer.", s.Failed)
	tell("upkeep_failing", "gauge", "Whether backups or the erasure of deleted text fail.", boolean(h.bot.upkeep.On()))
	usageMetrics(w, s.Usage, h.bot.current.Load().settings.Money().Prices)
	metricHead(w, "compactions_total", "counter", "Steps of compactions, by state.")
	counts := h.bot.compactions.all()
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "cairn_compactions_total{state=%q} %d\n", state, counts[state])
	}
	metricHead(w, "connector_connected", "gauge", "Whether the connector is connected.")
	for _, connector := range h.connectors {
		if d, ok := connector.(interface{ Connected() bool }); ok {
			fmt.Fprintf(w, "cairn_connector_connected{connector=%q} %d\n", connector.Name(), boolean(d.Connected()))
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), probeTime)
	defer cancel()
	if inbox, outbox, err := h.bot.store.Waiting(ctx); err == nil {
		tell("inbox_messages", "gauge", "Messages that wait to be taken up.", inbox)
		tell("outbox_pieces", "gauge", "Pieces of replies that wait to be sent.", outbox)
	}
}

func metricHead(w io.Writer, name, kind, help string) {
	fmt.Fprintf(w, "# HELP cairn_%s %s\n# TYPE cairn_%s %s\n", name, help, name, kind)
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// usageMetrics tells what models were used for. No token is of two kinds: input is what no
// cache knew. The cost is by the prices of now, so an edit of them changes it.
func usageMetrics(w io.Writer, used []memory.Usage, list prices.List) {
	metricHead(w, "model_requests_total", "counter", "Requests that models answered, or counted and failed.")
	for _, u := range used {
		fmt.Fprintf(w, "cairn_model_requests_total{work=%q,model=%q} %d\n", u.Kind, u.Model, u.Requests)
	}
	metricHead(w, "model_tokens_total", "counter", "Tokens of these, as the provider counts them.")
	for _, u := range used {
		t := prices.Tokens{Input: u.Input, Cached: u.Cached, Written: u.Written, Output: u.Output}
		for _, one := range []struct {
			kind   string
			tokens int64
		}{{"input", t.Uncached()}, {"cached", t.Cached}, {"written", t.Written}, {"output", t.Output}} {
			fmt.Fprintf(w, "cairn_model_tokens_total{work=%q,model=%q,kind=%q} %d\n", u.Kind, u.Model, one.kind, one.tokens)
		}
	}
	metricHead(w, "model_cost", "gauge", "What they cost since the start, in the currency of the prices.")
	for _, u := range used {
		price, _ := list.Of(u.Model)
		cost := price.Cost(prices.Tokens{Input: u.Input, Cached: u.Cached, Written: u.Written, Output: u.Output})
		fmt.Fprintf(w, "cairn_model_cost{work=%q,model=%q} %g\n", u.Kind, u.Model, cost)
	}
}
