// What was missed where it is hard to find: in threads of old messages, and in channels that are not known.

package slack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/slack/slacktest"
)

func TestAMissedReplyToAnOldMessageIsRead(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, unhelpful(), ok)
	old := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "old"})
	r.w.Burst(20, slacktest.Post{Channel: general, User: ann, Text: "between"})
	r.eventually("it is stored", func() bool { return len(r.messages(conversation(general))) == 21 })
	r.betweenSockets(func() { r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: old, Text: mention + "hello"}) })
	r.answered(general, "ok")
	r.stored(conversation(general, old), "user: hello", "assistant: ok")
}

// A gap is closed once its page is stored: by then its threads must be noted.
func TestAPageIsNotThereBeforeItsThreadsAreNoted(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, unhelpful(), ok)
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "root"})
	r.stored(conversation(general), "user: root")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: "reply", Untold: true})
	look := channel.Look{After: tsOf(timeOf(root).Add(-time.Second)), Limit: 10}
	exec := r.disk()
	exec("CREATE TRIGGER broken BEFORE UPDATE OF gap ON conversations BEGIN SELECT RAISE(FAIL, 'the disk is broken'); END")
	if page, err := r.connector.History(t.Context(), conversation(general), look); err == nil {
		t.Errorf("a page of %d messages", len(page.There))
	}
	exec("DROP TRIGGER broken")
	check.Must(r.connector.History(t.Context(), conversation(general), look))(t)
	r.stored(conversation(general, root), "user: reply")
}

func TestChannelsAreListedAgainUntilThatWorks(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, unhelpful(), ok)
	hushed := r.w.AddChannel("hushed", ann)
	r.hurry = func(o *times) { o.list = 50 * time.Millisecond }
	r.begin()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "before"})
	r.stored(conversation(general), "user: before")
	r.end()
	r.w.Say(slacktest.Post{Channel: hushed, User: ann, Text: mention + "hello"})
	r.w.Fail(slacktest.Fault{Method: "users.conversations", Error: "fatal_error", Times: 3})
	r.begin()
	r.answered(hushed, "ok")
	for _, event := range []string{"list_channels_failed", "list_channels_recovered"} {
		check.Equal(t, event, strings.Count(r.logs.String(), event), 1)
	}
}

func TestWhatSlackDropsInABusyMinuteIsRead(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, unhelpful(), ok)
	hushed := r.w.AddChannel("hushed", ann)
	r.hurry = func(o *times) { o.dropped = 100 * time.Millisecond }
	r.begin()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "before"})
	r.stored(conversation(general), "user: before")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "dropped", Untold: true})
	r.w.Say(slacktest.Post{Channel: hushed, User: ann, Text: "dropped where nothing was ever said", Untold: true})
	r.w.Sockets()[0].SendRaw(fmt.Sprintf(`{"type":"events_api","envelope_id":"","payload":{"type":"app_rate_limited","team_id":"T1","minute_rate_limited":%d}}`,
		time.Now().Add(-time.Minute).Unix()))
	r.stored(conversation(general), "user: before", "user: dropped")
	r.stored(conversation(hushed), "user: dropped where nothing was ever said")
	check.Contains(t, "log", r.logs.String(), "events_dropped")
}

func TestWhatAQueueHasNoRoomForIsRead(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, unhelpful(), ok)
	r.hurry = func(o *times) { o.dropped = 100 * time.Millisecond }
	r.begin()
	held, release := r.holdQueue(general)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "before"})
	<-held
	for r.connector.queue.Offer(general, &event{ack: func() {}}) {
	}
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "no room"})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "nor here"})
	r.eventually("the queue is full", r.connector.overflowed.Load)
	release()
	r.answered(general, "ok")
	r.stored(conversation(general), "user: before", "user: no room", "user: nor here", "assistant: ok")
}

func TestAGapBeginsBeforeTheNewestMessage(t *testing.T) {
	dropped := time.Unix(1700000000, 0)
	for _, c := range []struct {
		since               time.Time
		newest, first, want string
	}{
		{dropped, "1700000100.000200", "1600000000.000000", "1699999990.000000"},
		{dropped, "1600000100.000200", "1600000000.000000", "1600000090.000200"}, // as always: nothing came since
		{dropped, "1700000100.000200", "1700000050.000000", "1700000050.000000"}, // the bot was not there before
		{time.Now(), "1700000100.000200", "1700000000.000000", "1700000090.000200"},
		{time.Now(), "1700000100.000200", "1700000095.000100", "1700000095.000100"},
		{time.Now(), "1700000100.000200", "1700000100.000200", "1700000100.000200"},
		{time.Now(), "1700000100.000200", "1700000200.000000", "1700000100.000200"}, // what was read back stands behind
		{time.Now(), "1700000100.000200", "D1:1", "1700000090.000200"},              // imported
		{time.Now(), "D1:1", "D1:1", "D1:1"},
		{time.Now(), "12", "1", "12"},
		{time.Now(), "3.5", "1.5", "1.500000"},
		{time.Now(), "3.5", "D1:1", "3.5"},
		{time.Now(), "-3.5", "-5.5", "-3.5"},
		{time.Now(), "1.-5", "1.-7", "1.-5"},
	} {
		check.Equal(t, fmt.Sprintf("the gap behind %s, the first being %s", c.newest, c.first), gapAfter(c.since)(c.newest, c.first), c.want)
	}
}

func TestUnknownChannelsAreReadSinceTheSocketWasLost(t *testing.T) {
	now := time.Now()
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	for i, c := range []struct{ lastRead, firstHello, want time.Time }{
		{want: ago(60)},
		{lastRead: ago(10), want: ago(11)},
		{lastRead: ago(90), want: ago(60)},
		{lastRead: ago(10), firstHello: ago(10), want: ago(10)},
	} {
		s := &Slack{o: Options{CatchUp: time.Hour}, lastRead: c.lastRead, firstHello: c.firstHello}
		check.Equal(t, fmt.Sprint("case ", i), s.missedSince(now), c.want)
	}
}
