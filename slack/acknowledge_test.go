// What comes is kept before it is acknowledged, once and in order.

package slack

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/slack/slacktest"
)

// acknowledged reports whether all that came over a socket was acknowledged.
func (r *rig) acknowledged() bool {
	return !slices.ContainsFunc(r.w.Deliveries(), func(d slacktest.Delivery) bool { return d.Socket > 0 && d.Acked.IsZero() })
}

// repeat has Slack send the events with a text again.
func (r *rig) repeat(text string) {
	for _, d := range r.w.Deliveries() {
		if d.EventID != "" && d.Attempt == 0 && strings.Contains(string(d.Payload), text) {
			r.w.Repeat(d.EventID)
		}
	}
}

func TestAnEventThatComesAgainIsOneMessage(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, quick(), answerN)
	r.ask(general, ann, 1)
	r.repeat("question 1")
	r.eventually("all is acknowledged", r.acknowledged)
	r.end()
	r.begin()
	r.repeat("question 1")
	r.ask(general, ann, 2)
	r.stored(conversation(general), "user: question 1", "assistant: answer 1", "user: question 2", "assistant: answer 2")
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
	const n = 250 // more than a batch of a queue
	r.w.Burst(n, slacktest.Post{Channel: general, User: ann, Text: "line"})
	r.eventually("all are acknowledged", r.acknowledged)
	r.Idle(conversation(general))
	all := r.Transcript(conversation(general))
	check.Len(t, "messages", all, n)
	for i, m := range all {
		check.Require(t, m.Text == fmt.Sprintf("line #%d", i+1), "message %d is %q", i+1, m.Text)
	}
}

func TestADiskThatTakesNothing(t *testing.T) {
	t.Parallel()
	o := quick()
	o.AckWithin = time.Second // after which Slack sends it again
	r, general, ann := connectedRig(t, o, answerN)
	r.ask(general, ann, 1)
	r.Exec("CREATE TRIGGER broken BEFORE INSERT ON inbox BEGIN SELECT RAISE(FAIL, 'the disk is broken'); END")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "question 2"})
	const told = "I cannot store your message right now. I will keep trying, and answer once I have it."
	r.eventually("people are told", func() bool { return slices.Contains(r.said(general), told) })
	check.Equal(t, "what is not on disk was acknowledged", r.acknowledged(), false)
	r.Exec("DROP TRIGGER broken")
	r.eventually("it is answered", func() bool { return slices.Contains(r.said(general), "answer 2") })
	check.Equal(t, "how often people are told", strings.Count(strings.Join(r.said(general), "\n"), told), 1)
	r.stored(conversation(general), "user: question 1", "assistant: answer 1", "user: question 2", "assistant: answer 2")
	check.Equal(t, "warnings for one incident", strings.Count(r.Log.String(), "store_message_failed"), 1)
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

func TestAQueueThatIsHeldUp(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, unhelpful(), answerN)
	other := r.w.AddChannel("other", ann)
	r.hurry = func(o *times) { o.dropped = 100 * time.Millisecond }
	r.begin()
	held, release := r.holdQueue(general)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "slowly"})
	<-held
	r.repeat("slowly")
	r.w.Say(slacktest.Post{Channel: other, User: ann, Text: mention + "hello"})
	r.awaitAnswers(other, 1)
	for r.connector.queue.Offer(general, &event{ack: func() {}}) {
	}
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "no room"})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "nor here"})
	r.eventually("the queue is full", r.connector.overflowed.Load)
	release()
	r.answered(general, "answer 2")
	r.stored(conversation(general), "user: slowly", "user: no room", "user: nor here", "assistant: answer 2") // read from history
}
