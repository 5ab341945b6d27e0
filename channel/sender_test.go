package channel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/privacy"
)

// Many replies wait behind a slow one; whatever happens to the first, each goes out once, and in order.
func TestRepliesBehindSlowSendStayInOrder(t *testing.T) {
	for name, fails := range map[string]int{"it arrives": 0, "it fails": 1} {
		inBubble(t, echo, func(t *testing.T, r *rig) {
			r.connector.note(func() { r.connector.delay, r.connector.failures = 2*time.Second, fails })
			var want []string
			for n := range 6 {
				want = append(want, fmt.Sprint("answer ", n+1))
				r.say("hello", true)
				synctest.Wait()
			}
			r.waitForReplies()
			check.EqualAll(t, name, r.connector.texts(), want)
			v := check.Must(r.store.Upkeep().Vitals(t.Context()))(t)
			check.That(t, v.Outbox == 0 && v.OutboxOldest.IsZero(), "%s: %+v", name, v)
			check.Equal(t, name+": writers sent or canceled", len(r.connector.sent)+r.connector.canceled, r.connector.opened)
		})
	}
}

// On a full disk a reply goes out and its row cannot be updated: it must not go out again with each try.
func TestReplyIsSentOnceWhileTheDiskRefuses(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		log := r.captureLog()
		r.execute("CREATE TRIGGER refuse BEFORE UPDATE OF sent_at ON outbox BEGIN SELECT RAISE (ABORT, 'the disk is full'); END")
		r.say("hello", true)
		time.Sleep(10 * time.Second)
		check.EqualAll(t, "sent while the disk refuses", r.connector.texts(), []string{"answer 1"})
		check.Equal(t, "tries", log.count("send_reply_failed"), 4)
		check.Equal(t, "warnings", log.count("level=WARN"), 1)
		r.execute("DROP TRIGGER refuse")
		r.waitForReplies()
		r.restart()
		r.ask("and now?")
		check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1", "answer 2"})
	})
	// What is deleted while it waits to be sent fails nothing.
	inBubble(t, echo, func(t *testing.T, r *rig) {
		j := r.captureLog()
		r.connector.delay = 3 * time.Second
		r.say("one", true)
		r.say("two", true)
		time.Sleep(time.Second)
		check.NoError(t, privacy.Of(storetest.Find(t, r.store, place)).Purge(t.Context()))
		r.waitForReplies()
		check.Equal(t, "failures in the log", j.count("send_reply_failed"), 0)
	})
}

// rejecting runs f with a rig whose connector rejects what begins with a text; it counts how often.
func rejecting(t *testing.T, text string, f func(t *testing.T, r *rig, times *int)) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		times := 0
		r.connector.fails = func(p channel.Piece) error {
			if !strings.HasPrefix(p.Text, text) {
				return nil
			}
			if times++; times == 2 {
				panic("send") // counts as a refusal: otherwise the bot would stop, and again after each start
			}
			return errors.New("the connector refused the piece")
		}
		r.say("hello", true)
		f(t, r, &times)
	})
}

// The next pieces are sent, and people get a notice.
func TestPieceIsDroppedAfterEightRejections(t *testing.T) {
	rejecting(t, "answer 1", func(t *testing.T, r *rig, times *int) {
		started := time.Now()
		time.Sleep(time.Second)
		r.say("and this?", true)
		synctest.Wait()
		s := r.hub.Stats()
		check.EqualAll(t, "refused and dropped at first", []int{s.Refused, int(s.Dropped)}, []int{1, 0})
		check.NoError(t, r.hub.Idle(t.Context(), place))
		check.That(t, time.Since(started) <= time.Hour, "took %v", time.Since(started))
		check.Len(t, "sent", r.connector.texts(), 2)
		check.Equal(t, "sent first", r.connector.texts()[0], "answer 2")
		check.HasPrefix(t, "the notice", r.lastText(), "I could not send an answer here")
		s = r.hub.Stats()
		check.EqualAll(t, "tries, refused and dropped", []int{*times, s.Refused, int(s.Dropped)}, []int{8, 0, 1})
	})
	rejecting(t, "answer 1", func(t *testing.T, r *rig, times *int) {
		for range 6 { // two tries each
			time.Sleep(2 * time.Second)
			r.restart()
		}
		check.NoError(t, r.hub.Idle(t.Context(), place))
		check.Equal(t, "tries, over restarts", *times, 8)
		check.Len(t, "sent", r.connector.texts(), 1)
	})
	rejecting(t, "", func(t *testing.T, r *rig, times *int) { // a rejected notice causes no further notice
		check.NoError(t, r.hub.Idle(t.Context(), place))
		check.EqualAll(t, "tries and dropped", []int{*times, int(r.hub.Stats().Dropped)}, []int{16, 2})
	})
	inBubble(t, echo, func(t *testing.T, r *rig) { // attempts do not count while the connector is offline
		r.opts.Connectors = []channel.Connector{offline{r.connector}}
		r.reopen()
		r.connector.failures = 100
		r.say("hello", true)
		check.NoError(t, r.hub.Idle(t.Context(), place))
		check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1"})
	})
}

func TestReplyThatIsRejectedForGoodIsDroppedAtOnce(t *testing.T) {
	r := newRig(t, echo)
	r.connector.fails = func(p channel.Piece) error {
		if p.Text != "answer 1" {
			return nil
		}
		return fmt.Errorf("post: %w", channel.ErrGone)
	}
	r.ask("one")
	r.ask("two")
	r.restart()
	r.waitForReplies()
	check.Len(t, "sent, also after a restart", r.connector.texts(), 2)
	check.Contains(t, "sent first", r.connector.texts()[0], "the platform rejected it")
	check.Equal(t, "next answer", r.lastText(), "answer 2")
}

type offline struct{ *connector }

func (offline) Connected() bool { return false }

// A server of tools may still be connecting when a turn starts.
func TestTurnWaitsForTools(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		b := r.withTools(channel.ApproveNever)
		b.Connecting = make(chan struct{})
		r.opts.Agent = func(conversation string) channel.Agent {
			a := r.agent
			if conversation != place {
				a.ToolServers = nil
			}
			return a
		}
		r.restart()
		atOnce := func(what string, do func()) {
			t.Helper()
			began := time.Now()
			do()
			check.That(t, time.Since(began) < time.Second, "%s took %v", what, time.Since(began))
		}
		check.Equal(t, "answer without tools that do not connect", r.ask("please add"), "Hello.")
		r.say("please add", true)
		synctest.Wait()
		atOnce("/stop", func() { r.wantAnswer("/stop", "Stopped"); r.waitForReplies() })
		r.say("please add", true)
		synctest.Wait()
		atOnce("a conversation without tools", func() { r.tell(place+"2", "hello", addressed) })
		check.Equal(t, "before the tools connect", texts(r.transcript()),
			"user: please add | assistant: Hello. | user: please add | user: please add")
		r.restart() // the wait does not hold up the end of the program
		synctest.Wait()
		b.Connect(func() { r.hub.Renew(channel.Rules{}) }) // as the program does
		r.waitForReplies()
		check.Len(t, "calls of the resumed turn", b.Called(), 1)
		check.Contains(t, "last piece sent", r.lastText(), "five")
		r.ask("please add")
		check.Len(t, "calls of the next turn", b.Called(), 2)
	})
}

func TestDraftWaitsForUnsentReplies(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) { // it is shown once they are sent, also if the model pauses
		r.connector.note(func() { r.connector.delay = time.Minute })
		r.say("one", true)
		synctest.Wait()
		r.agent.Model = streaming{r.model, func(ctx context.Context, show func(string)) (llm.Response, error) {
			show("wait")
			return blockUntilCanceled(ctx, 0, llm.Request{})
		}}
		r.hub.Renew(channel.Rules{})
		r.say("two", true)
		time.Sleep(2 * time.Minute)
		r.connector.note(func() {
			sent := slices.Index(r.connector.seen, "sent answer 1") // whose draft shows unless the sender still looks for earlier ones
			check.EqualAll(t, "seen before the model goes on", r.connector.seen[max(sent, 0):], []string{"sent answer 1", "shown wait"})
			r.connector.delay = 0
		})
		r.wantAnswer("/stop", "Stopped")
		r.waitForReplies()
		check.Equal(t, "sent", r.lastText(), "wait")
	})
	inBubble(t, nil, func(t *testing.T, r *rig) {
		r.model.Func = alwaysSay("answer in words")
		r.connector.delay = time.Hour // no reply gets out
		r.say("one", true)
		synctest.Wait()
		r.model.Func = blockUntilCanceled
		r.say("two", true)
		synctest.Wait()
		r.stop()
		r.model.Func = alwaysSay("another answer")
		r.connector.seen, r.connector.delay = nil, 0
		r.restart()
		r.waitForReplies()
		check.Equal(t, "first piece people see", r.connector.seen[0], "sent answer in words")
	})
}
