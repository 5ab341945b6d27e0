package channel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/privacy"
)

// Many replies wait behind a slow one; whatever happens to the first, each goes out once, and in
// order.
func TestRepliesBehindSlowSendStayInOrder(t *testing.T) {
	for name, fails := range map[string]int{"it arrives": 0, "it fails": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const turns = 12
			r := newRig(t, echo)
			r.connector.note(func() { r.connector.delay, r.connector.failures = 2*time.Second, fails })
			var want []string
			for n := range turns {
				want = append(want, fmt.Sprint("answer ", n+1))
				r.say("hello", true)
				r.connector.until(t, "the message to be taken up", func() bool { return r.connector.countTaken() == n+1 })
			}
			r.connector.note(func() { r.connector.delay = 0 })
			r.waitForReplies()
			if got := r.connector.texts(); !slices.Equal(got, want) {
				t.Errorf("got %d: %q", len(got), got)
			}
			if v, err := r.store.Upkeep().Vitals(t.Context()); err != nil || v.Outbox != 0 || !v.OutboxOldest.IsZero() {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}

// On a full disk a reply goes out and its row cannot be updated: it must not go out once more with
// each try.
func TestReplyIsSentOnceWhileTheDiskRefuses(t *testing.T) {
	r := newRig(t, echo)
	log := r.captureLog()
	r.execute("CREATE TRIGGER refuse BEFORE UPDATE OF sent_at ON outbox BEGIN SELECT RAISE (ABORT, 'the disk is full'); END")
	r.say("hello", true)
	for log.count("send_reply_failed") < 2 {
		time.Sleep(50 * time.Millisecond)
	}
	check.EqualAll(t, "sent while the disk refuses", r.connector.texts(), []string{"answer 1"})
	r.execute("DROP TRIGGER refuse")
	r.waitForReplies()
	r.restart()
	r.ask("and now?")
	check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1", "answer 2"})
}

func TestPieceIsDroppedAfterEightRejections(t *testing.T) {
	refuses := func(text string) func(channel.Piece) bool {
		return func(p channel.Piece) bool { return strings.HasPrefix(p.Text, text) }
	}
	t.Run("the next pieces are sent, and people get a notice", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, echo)
			r.connector.note(func() { r.connector.rejects = refuses("answer 1") })
			started := time.Now()
			r.say("hello", true)
			time.Sleep(time.Second)
			r.say("and this?", true)
			synctest.Wait()
			s := r.hub.Stats()
			check.Equal(t, "sent while the platform rejects", s.Refused, 1)
			check.Equal(t, "rejected pieces", s.Dropped, 0)
			check.NoError(t, r.hub.Idle(t.Context(), place))
			if took := time.Since(started); took > time.Hour {
				t.Errorf("took %v", took)
			}
			got := r.connector.texts()
			check.Len(t, "sent", got, 2)
			check.Equal(t, "got[0]", got[0], "answer 2")
			check.HasPrefix(t, "got[1]", got[1], "I could not send an answer here")
			if s := r.hub.Stats(); len(r.connector.rejected) != 8 || s.Refused != 0 || s.Dropped != 1 {
				t.Errorf("got %d attempts, %d rejected, %d dropped", len(r.connector.rejected), s.Refused, s.Dropped)
			}
			r.stop()
		})
	})
	t.Run("attempts count across restarts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, echo)
			r.connector.note(func() { r.connector.rejects = refuses("answer 1") })
			r.say("hello", true)
			for range 6 { // two tries each
				time.Sleep(2 * time.Second)
				r.restart()
			}
			check.NoError(t, r.hub.Idle(t.Context(), place))
			check.Len(t, "attempts and sent", r.connector.rejected, 8)
			check.Len(t, "attempts and sent", r.connector.texts(), 1)
			r.stop()
		})
	})
	t.Run("a rejected notice causes no further notice", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, echo)
			r.connector.note(func() { r.connector.rejects = refuses("") })
			r.say("hello", true)
			check.NoError(t, r.hub.Idle(t.Context(), place))
			check.Len(t, "attempts", r.connector.rejected, 16)
			check.Equal(t, "attempts", r.hub.Stats().Dropped, 2)
			r.stop()
		})
	})
	t.Run("attempts do not count while the connector is offline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, echo)
			r.opts.Connectors = []channel.Connector{offline{r.connector}}
			r.reopen()
			r.connector.note(func() { r.connector.failures = 100 })
			r.say("hello", true)
			check.NoError(t, r.hub.Idle(t.Context(), place))
			check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1"})
			r.stop()
		})
	})
}

// Otherwise the bot would stop, and again after each start.
func TestPanicOfConnectorRejectsPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, echo)
		r.connector.note(func() {
			r.connector.rejects = func(p channel.Piece) bool {
				if p.Text == "answer 1" {
					panic("send")
				}
				return false
			}
		})
		r.say("hello", true)
		check.NoError(t, r.hub.Idle(t.Context(), place))
		check.Len(t, "sent", r.connector.texts(), 1)
		check.HasPrefix(t, "the notice", r.lastText(), "I could not send an answer here")
		check.Equal(t, "dropped pieces", r.hub.Stats().Dropped, 1)
		r.stop()
	})
}

// offline is a connector that reports that it has no connection.
type offline struct{ *connector }

func (offline) Connected() bool { return false }

// What is deleted while it waits to be sent fails nothing.
func TestPurgeWhileSending(t *testing.T) {
	r := newRig(t, echo)
	j := r.captureLog()
	r.connector.delay = 300 * time.Millisecond
	r.say("one", true)
	r.say("two", true)
	r.connector.until(t, "the first reply", func() bool { return r.connector.opened > 0 })
	time.Sleep(100 * time.Millisecond)
	conv := check.Must(r.store.Find(t.Context(), place))(t)
	check.NoError(t, privacy.Of(conv).Purge(t.Context()))
	r.waitForReplies()
	check.Equal(t, "failures in the log", j.count("send_reply_failed"), 0)
}
