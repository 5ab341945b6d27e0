// What comes is kept before it is acknowledged, once and in order.

package slack

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/slack/slacktest"
)

func TestAnEventThatComesAgainIsOneMessage(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, quick(), answerN)
	r.ask(general, ann, 1)
	repeat := func() {
		for _, d := range r.w.Deliveries() {
			if d.EventID != "" && d.Attempt == 0 && strings.Contains(string(d.Payload), "question 1") {
				r.w.Repeat(d.EventID)
			}
		}
	}
	repeat()
	r.eventually("all is acknowledged", r.acknowledged)
	r.end()
	r.begin()
	repeat()
	r.ask(general, ann, 2)
	r.stored(conversation(general), "user: question 1", "assistant: answer 1", "user: question 2", "assistant: answer 2")
}

func TestAnEventWithoutATimeIsRefused(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, quick(), answerN)
	ts := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "on Monday"})
	r.stored(conversation(general), "user: on Monday")
	for _, invalid := range []any{"soon", "1700000000.abc", "-1.000000", nil} {
		r.w.Emit(map[string]any{"type": "message", "channel": general, "user": ann, "ts": invalid, "text": mention + "when?"})
		r.w.Emit(map[string]any{
			"type": "message", "subtype": "message_changed", "channel": general, "ts": invalid,
			"message":          map[string]any{"type": "message", "user": ann, "text": "on Tuesday", "ts": ts},
			"previous_message": map[string]any{"type": "message", "user": ann, "text": "on Monday", "ts": ts},
		})
	}
	r.eventually("all are acknowledged", r.acknowledged)
	r.w.Edit(general, ts, "on Friday")
	r.stored(conversation(general), "user: on Friday")
	r.answered(general)
	check.Equal(t, "events that the log tells of", strings.Count(r.logs.String(), "event_refused"), 8)
}

func TestTimeOfATS(t *testing.T) {
	for ts, want := range map[string]time.Time{
		"1700000000.000200":   time.Unix(1700000000, 200_000),
		"1700000000.5":        time.Unix(1700000000, 500_000_000),
		"1700000000":          time.Unix(1700000000, 0),
		"0.000000":            time.Unix(0, 0),
		"":                    {},
		"soon":                {},
		"-1.000000":           {},
		"1.-5":                {},
		"1700000000.00020x":   {},
		"9999999999999999999": {},
	} {
		check.Equal(t, ts, timeOf(ts), want)
	}
}

func TestABurstStaysInOrder(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, slacktest.Options{}, answerN)
	r.hurry = func(c *times) { c.silence = time.Hour } // the double says nothing while it makes the burst
	r.begin()
	const n = 2000
	r.w.Burst(n, slacktest.Post{Channel: general, User: ann, Text: "line"})
	r.eventually("all are acknowledged", func() bool {
		time.Sleep(50 * time.Millisecond) // looking at thousands of deliveries takes its time too
		return r.acknowledged()
	})
	r.settled(conversation(general))
	if got := len(r.messages(conversation(general))); got != n {
		t.Fatalf("%d messages", got)
	}
	for i, m := range r.messages(conversation(general)) {
		if want := fmt.Sprintf("line #%d", i+1); m.Text != want {
			t.Fatalf("message %d is %q", i+1, m.Text)
		}
	}
}

func TestADiskThatTakesNothing(t *testing.T) {
	t.Parallel()
	for claim, o := range map[string]slacktest.Options{"and Slack sends again": quick(), "and Slack does not": {Redeliver: []time.Duration{}}} {
		t.Run(claim, func(t *testing.T) {
			r, general, ann := town(t, o, answerN)
			r.begin()
			r.ask(general, ann, 1)
			repair := r.breakDisk()
			r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "question 2"})
			r.eventually("it is told", func() bool { return strings.Contains(r.logs.String(), "store_message_failed") })
			if r.acknowledged() {
				t.Error("what is not on disk was acknowledged")
			}
			repair()
			r.eventually("it is answered", func() bool { return slices.Contains(r.said(general), "answer 2") })
			check.Equal(t, "warnings for one incident", strings.Count(r.logs.String(), "store_message_failed"), 1)
		})
	}
}

func TestPeopleHearOfADiskThatTakesNothingForLong(t *testing.T) {
	t.Parallel()
	o := quick()
	o.AckWithin = time.Second
	r, general, ann := connectedRig(t, o, answerN)
	r.ask(general, ann, 1)
	repair := r.breakDisk()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "question 2"})
	const told = "I cannot store your message right now. I will keep trying, and answer once I have it."
	r.eventually("people are told", func() bool { return slices.Contains(r.said(general), told) })
	repair()
	r.eventually("it is answered", func() bool { return slices.Contains(r.said(general), "answer 2") })
	check.Equal(t, "how often they are told", strings.Count(strings.Join(r.said(general), "\n"), told), 1)
}

// holdQueue has the queue of a channel, once it has something, wait until it is released.
func (r *rig) holdQueue(channelID string) (held <-chan struct{}, release func()) {
	hold, begun := make(chan struct{}), make(chan struct{})
	var once sync.Once
	do := r.connector.queue.Do
	r.connector.queue.Do = func(batch []*event) {
		if batch[0].Channel == channelID {
			once.Do(func() { close(begun) })
			<-hold
		}
		do(batch)
	}
	return begun, func() { close(hold) }
}

// sent counts the deliveries that contain a text.
func (r *rig) sent(text string) (n int) {
	for _, d := range r.w.Deliveries() {
		if strings.Contains(string(d.Payload), text) {
			n++
		}
	}
	return n
}

func TestAQueueThatIsHeldUp(t *testing.T) {
	t.Parallel()
	o := quick()
	o.AckWithin = 100 * time.Millisecond
	r, general, ann := town(t, o, answerN)
	other := r.w.AddChannel("other", ann)
	r.begin()
	held, release := r.holdQueue(general)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "slowly"})
	<-held
	r.eventually("Slack has sent it four times", func() bool { return r.sent("slowly") == 4 })
	r.w.Say(slacktest.Post{Channel: other, User: ann, Text: mention + "hello"})
	r.awaitAnswers(other, 1)
	release()
	r.eventually("all are acknowledged", r.acknowledged)
	r.stored(conversation(general), "user: slowly")
}

// TestAReplyThatWaitsBehindItsQuestionIsAnswered: whether somebody asked the bot there is known once the
// question is stored.
func TestAReplyThatWaitsBehindItsQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, quick(), answerN)
	r.opts.ReplyIn = replyThread
	r.begin()
	held, release := r.holdQueue(general)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "slowly"})
	<-held
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "who painted it?"})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: "and when?"})
	r.eventually("both are sent", func() bool { return r.sent("and when?") > 0 })
	time.Sleep(100 * time.Millisecond) // until they are queued
	release()
	r.eventually("both are answered", func() bool { return len(r.model.Requests()) == 2 })
}

// A connector that lives for months connects again and again. This runs alone: goroutines of
// other tests would be counted too.
func TestReconnectingLeavesNothingBehind(t *testing.T) {
	r, general, ann := connectedRig(t, quick(), answerN)
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
		r.connector.api.close()
		return runtime.NumGoroutine(), openSockets()
	}
	lose(2) // what is made once is there then
	goroutines, sockets := count()
	lose(4)
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
