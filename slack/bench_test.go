// How fast and how large the connector is.

package slack

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/slack/slacktest"
)

func instant(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say("ok"), nil }

// crowd is a bot with an instant model, and people in many channels.
func crowd(b *testing.B, channels int) (r *rig, ids []string, ann string) {
	r = newRig(b, slacktest.Options{Redeliver: []time.Duration{}}, instant)
	ann = r.w.AddUser("ann")
	for i := range channels {
		ids = append(ids, r.w.AddChannel(fmt.Sprint("channel-", i), ann))
	}
	r.begin()
	<-r.connector.ready
	r.connector.self.since = time.Time{} // nothing is looked up that an earlier process may have begun
	return r, ids, ann
}

// await waits until something has happened n times.
func await(b *testing.B, n int, happened func() int) {
	b.Helper()
	for end := time.Now().Add(time.Minute); happened() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("%d of %d", happened(), n)
		}
	}
}

// posts counts those of the bot.
func (r *rig) posts() int { return len(r.w.Calls("chat.postMessage")) }

// BenchmarkAnswered sends 200 messages to the bot, two in each of 100 channels, and waits
// for as many answers as there are turns.
func BenchmarkAnswered(b *testing.B) {
	r, ids, ann := crowd(b, 100)
	const each = 2
	begun, sent := time.Now(), 0
	for b.Loop() {
		for range each {
			before := r.posts()
			for _, id := range ids {
				r.w.Say(slacktest.Post{Channel: id, User: ann, Text: mention + "hello"})
			}
			await(b, before+len(ids), r.posts)
			sent += len(ids)
		}
	}
	b.ReportMetric(float64(sent)/time.Since(begun).Seconds(), "messages/s")
}

// BenchmarkFirstCall is the time from an event to the bot's first call, in an idle bot.
func BenchmarkFirstCall(b *testing.B) {
	r, ids, ann := crowd(b, 1)
	var sum time.Duration
	for b.Loop() {
		before := len(r.w.Calls(""))
		begun := time.Now()
		r.w.Say(slacktest.Post{Channel: ids[0], User: ann, Text: mention + "hello"})
		await(b, before+1, func() int { return len(r.w.Calls("")) })
		sum += r.w.Calls("")[before].At.Sub(begun)
		r.settled(conversation(ids[0]))
	}
	b.ReportMetric(float64(sum.Microseconds())/float64(b.N)/1000, "ms/first-call")
}

// BenchmarkMemory is what 1 000 channels cost in memory in which something was said and
// which are idle.
func BenchmarkMemory(b *testing.B) {
	const channels = 1000
	r, ids, ann := crowd(b, channels)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := heap()
	for b.Loop() {
		for _, id := range ids {
			r.w.Say(slacktest.Post{Channel: id, User: ann, Text: "hello"})
		}
		await(b, 1, func() int {
			if r.acknowledged() {
				return 1
			}
			return 0
		})
	}
	for _, id := range ids {
		r.settled(conversation(id))
	}
	after := heap()
	b.ReportMetric(float64(after-before)/channels/1024, "KiB/channel") // the double's own share included
}
