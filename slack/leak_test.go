package slack

import (
	"fmt"
	"os"
	"runtime"
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
	lose(2) // what is made once is there then
	goroutines, handles := runtime.NumGoroutine(), openFiles()
	lose(6)
	r.eventually("goroutines and open files are as before", func() bool {
		return runtime.NumGoroutine() <= goroutines && openFiles() <= handles
	})
}

// openFiles counts files and sockets; 0 where the system does not tell.
func openFiles() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}
