// What the connector costs: messages a second, time to the first request, memory of a
// channel.

package discord

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"cairn/discord/discordtest"
)

// unlimited takes the rate limits out of the way.
func unlimited(d *Discord) { d.rest.limits.perSecond = 1 << 30 }

func benchRig(b *testing.B, tune ...func(*Discord)) *rig {
	return newRig(b, discordtest.Options{GlobalPerSecond: 1 << 30}, append(tune, unlimited)...).start()
}

// BenchmarkMessages is questions in, answers out, with a model that answers at once:
// 16 channels side by side, one question at a time in each.
func BenchmarkMessages(b *testing.B) {
	r := benchRig(b)
	var places []string
	for i := range 16 {
		places = append(places, r.Channel(r.guild.ID, fmt.Sprint("channel ", i)).ID)
	}
	b.ResetTimer()
	for asked := 0; asked < b.N; {
		now := min(len(places), b.N-asked)
		for _, place := range places[:now] {
			r.ask(place, "question")
		}
		asked += now
		round := (asked + len(places) - 1) / len(places)
		for _, place := range places[:now] {
			r.until("the answer", func() bool { return len(r.Sent(place)) >= round })
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}

// BenchmarkHeard is messages to nobody, until they are on disk.
func BenchmarkHeard(b *testing.B) {
	r := benchRig(b)
	b.ResetTimer()
	for i := range b.N {
		r.Say(r.square, r.ann.ID, fmt.Sprint("line ", i))
	}
	last := r.ask(r.square, "the last")
	r.until("the answer", func() bool {
		s := r.Sent(r.square)
		return len(s) > 0 && s[len(s)-1].Reference.MessageID == last.ID
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}

// BenchmarkFirstCall is the time from a question to the first request: the bot types.
func BenchmarkFirstCall(b *testing.B) {
	r := benchRig(b)
	var sum time.Duration
	for i := range b.N {
		n := len(r.Requests("POST /channels/*/*"))
		began := time.Now()
		r.ask(r.square, "question")
		r.until("a request", func() bool { return len(r.Requests("POST /channels/*/*")) > n })
		sum += r.Requests("POST /channels/*/*")[n].At.Sub(began)
		r.until("the answer", func() bool { return len(r.Sent(r.square)) > i })
	}
	b.ReportMetric(float64(sum.Microseconds())/float64(b.N), "µs/first-call")
}

// BenchmarkMemory is what a channel costs the connector while nothing is said there.
func BenchmarkMemory(b *testing.B) {
	const channels = 1000
	type c = map[string]any
	var all []c
	for i := range channels {
		all = append(all, c{"id": fmt.Sprint(1<<60 + i), "type": 0, "name": fmt.Sprint("channel-", i), "last_message_id": fmt.Sprint(1<<61 + i)})
	}
	data, err := json.Marshal(c{"id": fmt.Sprint(1 << 59), "channels": all})
	if err != nil {
		b.Fatal(err)
	}
	all = nil
	connectors := make([]*Discord, b.N)
	for i := range connectors {
		if connectors[i], err = New(Options{Token: "token"}); err != nil {
			b.Fatal(err)
		}
	}
	before := heap()
	for _, d := range connectors {
		if err := d.event("GUILD_CREATE", data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(heap()-before)/float64(channels*b.N), "B/channel")
	runtime.KeepAlive(connectors)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
