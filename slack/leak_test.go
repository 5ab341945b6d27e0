package slack

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"cairn/slack/slacktest"
)

// A door that lives for months connects again and again. This runs alone: goroutines of
// other tests would be counted too.
func TestReconnectingLeavesNothingBehind(t *testing.T) {
	r := newRig(t, quick(), answerN)
	general, ann := r.place()
	r.begin()
	r.ask(general, ann, 1)
	asked := 1
	lose := func(times int) {
		for range times {
			sockets := r.w.Sockets()
			if asked%2 == 0 {
				sockets[len(sockets)-1].Cut()
			} else {
				sockets[len(sockets)-1].Disconnect("refresh_requested")
			}
			asked++
			r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + fmt.Sprint("question ", asked)})
			r.awaitAnswers(general, asked)
		}
	}
	// A burst of requests leaves idle connections, however many it took.
	count := func() (goroutines, sockets int) {
		r.settled(conversation(general))
		r.door.api.close()
		return runtime.NumGoroutine(), openSockets()
	}
	lose(2) // what is made once is there then
	goroutines, sockets := count()
	lose(6)
	r.eventually("goroutines and sockets are as before", func() bool {
		g, s := count()
		return g <= goroutines && s <= sockets
	})
}

// openSockets counts the sockets of this process; 0 where the system does not tell. The
// database opens another file when two things are read at the same time.
func openSockets() (n int) {
	all, _ := os.ReadDir("/proc/self/fd")
	for _, f := range all {
		if to, _ := os.Readlink("/proc/self/fd/" + f.Name()); strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
