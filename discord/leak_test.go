// A connector that lives for months connects again and again.

package discord

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"cairn/discord/discordtest"
)

// It runs alone: goroutines of other tests would be counted too.
func TestReconnectingLeavesNothingBehind(t *testing.T) {
	r := newRig(t, discordtest.Options{}, func(d *Discord) { d.pauses.resume, d.pauses.connect = time.Millisecond, time.Millisecond }).start()
	ways := []func(){r.Reconnect, r.Cut, func() { r.Disconnect(discordtest.CloseUnknown) }}
	asked := 0
	lose := func(times int) {
		for range times {
			ways[asked%len(ways)]()
			asked++
			r.ask(r.square, fmt.Sprint("question ", asked))
			r.answers(r.square, asked)
		}
	}
	lose(len(ways)) // what is made once is there then
	goroutines, handles := runtime.NumGoroutine(), openFiles()
	lose(2 * len(ways))
	r.until("goroutines and open files are as before", func() bool {
		return runtime.NumGoroutine() <= goroutines && openFiles() <= handles
	})
}

// openFiles counts files and sockets; 0 where the system does not tell.
func openFiles() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}
