// Gauges of a running bot, read from the hub and the database when they are asked for.

package main

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/connector/discord"
)

var _ prometheus.Collector = (*health)(nil)

// Describe describes nothing: what there is depends on the connectors.
func (h *health) Describe(chan<- *prometheus.Desc) {}

// Collect reads the hub and the database.
func (h *health) Collect(all chan<- prometheus.Metric) {
	send := func(kind prometheus.ValueType, name, help string, value float64, labels prometheus.Labels) {
		all <- prometheus.MustNewConstMetric(prometheus.NewDesc("cairn_"+name, help, nil, labels), kind, value)
	}
	gauge := func(name, help string, value float64) { send(prometheus.GaugeValue, name, help, value, nil) }
	gaugeOf := func(name, help string, value float64, label, is string) {
		send(prometheus.GaugeValue, name, help, value, prometheus.Labels{label: is})
	}
	stats := h.hub.Stats()
	gauge("conversations_open", "Conversations in memory.", float64(stats.Open))
	gauge("conversations_stuck", "Conversations that cannot continue; the log says why.", float64(stats.Stuck))
	gauge("conversations_refused", "Conversations whose next reply was refused and is retried.", float64(stats.Refused))
	gauge("turns_failing", "Turns that failed since the last answer.", float64(stats.Failing))
	fullest, paused := h.hub.Operator().Windows()
	gauge("window_fill_ratio", "How full the fullest window is; 1: full.", fullest)
	gauge("compactions_paused", "Open conversations in which automatic compaction pauses; /context says why.", float64(paused))
	budgets := map[string]access.Budget{}
	for _, b := range h.hub.Operator().Access().Budgets() {
		budgets[b.Setting] = b
	}
	for period, setting := range map[string]string{"day": "budget_per_day", "month": "budget_per_month"} {
		gaugeOf("budget_limit", "Budget, in US dollars; 0: none.", budgets[setting].Limit, "period", period)
		gaugeOf("budget_spent", "Amount spent of the budget, in US dollars; 0: no budget.", budgets[setting].Spent, "period", period)
	}
	gauge("upkeep_failing", "1 while backups or the erasure of deleted text fail.", boolean[h.upkeep.On()])
	send(prometheus.CounterValue, "replies_dropped_total", "Pieces of replies that were dropped.", float64(stats.Dropped), nil)
	h.collectProcesses(gauge)
	for _, connector := range h.connectors {
		if !channel.FleetOf(h.hub).Connects(connector) {
			continue
		}
		gaugeOf("connector_connected", "1 if the connector is connected.", boolean[connector.Connected()], "connector", connector.Name())
		if c, ok := connector.(shardedConnector); ok {
			collectShards(c.Status(), gaugeOf, gauge)
		}
	}
	v, readable := h.readVitals()
	gauge("database_readable", "1 if the database could be read; if not, the numbers about it are old.", boolean[readable])
	gauge("inbox_messages", "Messages in the inbox.", float64(v.Inbox))
	gauge("inbox_oldest_seconds", "Age of the oldest of them; 0: there is none.", age(v.InboxOldest))
	gauge("outbox_pieces", "Pieces of replies waiting to be sent.", float64(v.Outbox))
	gauge("outbox_oldest_seconds", "Age of the oldest of them; 0: there is none.", age(v.OutboxOldest))
	for _, state := range []string{"active", "superseded", "forgotten", "replaced"} {
		gaugeOf("memories", "Memories, by state.", float64(v.Memories[state]), "state", state)
	}
	gaugeOf("database_bytes", "Size of the database, and of its write-ahead log.", float64(v.Bytes), "file", "database")
	gaugeOf("database_bytes", "Size of the database, and of its write-ahead log.", float64(v.LogBytes), "file", "log")
	if v.Free >= 0 {
		gauge("disk_free_bytes", "Free space on the disk of the database.", float64(v.Free))
	}
}

// collectProcesses sends how many processes run the bot, and how many of them differ from this one.
func (h *health) collectProcesses(gauge func(name, help string, value float64)) {
	all, self := channel.FleetOf(h.hub).Processes()
	differ := 0
	for _, p := range all {
		if p.Settings != self.Settings {
			differ++
		}
	}
	gauge("processes", "Processes that run the bot on this database.", float64(max(len(all), 1))) // this one, where there can be no others
	gauge("processes_differing", "Those of them whose settings differ from this one's.", float64(differ))
}

// collectShards sends what is known of Discord's shards that this process opens.
func collectShards(now discord.Status, gaugeOf func(name, help string, value float64, label, is string), gauge func(name, help string, value float64)) {
	for _, shard := range now.Shards {
		id := strconv.Itoa(shard.ID)
		gaugeOf("discord_shard_connected", "1 if the shard, a connection to Discord, is connected.", boolean[shard.Connected], "shard", id)
		gaugeOf("discord_shard_servers", "Servers on the shard; Discord accepts 2500.", float64(shard.Servers), "shard", id)
	}
	if now.Starts > 0 {
		gauge("discord_session_starts_left", "Sessions that Discord still lets the bot start today.", float64(now.StartsLeft))
	}
}

var boolean = map[bool]float64{true: 1}

// age returns how many seconds ago t was; 0 for the zero time.
func age(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(time.Since(t).Seconds(), 0)
}
