package channel_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/channel"
)

// BenchmarkTurn measures a whole turn with an instant model, from delivery to the sent reply, with
// everything on disk.
func BenchmarkTurn(b *testing.B) {
	r := newRig(b, echo)
	r.waitForReplies()
	for b.Loop() {
		r.ask("and what about tomorrow?")
	}
}

// BenchmarkDeliver measures the acknowledgement of a message: a durable row on disk.
func BenchmarkDeliver(b *testing.B) {
	r := newRig(b, echo)
	for b.Loop() {
		r.say("by the way", false)
	}
	r.waitForReplies()
}

// BenchmarkIdleChannel measures the memory of an open, idle channel that has had a turn, including
// its goroutines.
func BenchmarkIdleChannel(b *testing.B) {
	r := newRig(b, echo)
	r.waitForReplies()
	use := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before, n := use(), 0
	for b.Loop() {
		name := fmt.Sprintf("test:server/c%d", n)
		m := channel.Inbound{ID: "1", Author: "Ada", Text: "hello", Time: time.Now(), Addressed: true}
		check.Must(r.hub.Deliver(b.Context(), name, m))(b)
		check.NoError(b, r.hub.Idle(b.Context(), name))
		n++
	}
	b.ReportMetric(float64(use()-before)/float64(n), "bytes/channel")
}
