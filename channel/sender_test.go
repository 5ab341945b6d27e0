package channel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/compactor"
	"cairn/llm"
	"cairn/privacy"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// Many replies wait behind a slow one; whatever happens to the first, each goes out once, and in order.
func TestRepliesBehindSlowSendStayInOrder(t *testing.T) {
	for name, fails := range map[string]int{"it arrives": 0, "it fails": 1} {
		inBubble(t, echo, func(t *testing.T, r *rig) {
			r.connector.note(func() {
				r.connector.delay = 2 * time.Second
				r.connector.failures = fails
			})
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
		accept := storetest.Refuse(t, r.store, "UPDATE OF sent_at ON outbox", "the disk is full")
		r.say("hello", true)
		time.Sleep(10 * time.Second)
		check.EqualAll(t, "sent while the disk refuses", r.connector.texts(), []string{"answer 1"})
		check.EqualAll(t, "tries and warnings", []int{log.count("send_reply_failed"), log.count("level=WARN")}, []int{5, 1})
		accept()
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

func TestFailedReplyIsSentAgainSoon(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		r.connector.failures = 1
		asked := time.Now()
		r.ask("hello")
		check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1"})
		check.Equal(t, "sent after", time.Since(asked), 500*time.Millisecond)
		r.connector.failures = 3
		asked = time.Now()
		r.ask("and now?")
		check.Equal(t, "sent after three failures", time.Since(asked), 500*time.Millisecond+3*time.Second+9*time.Second)
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
			times++
			if times == 2 {
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
		check.HasPrefix(t, "the notice", r.lastText(), "I could not send all of an answer here")
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

func TestDraftWaitsForUnsentReplies(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) { // it is shown once they are sent
		r.connector.note(func() { r.connector.delay = time.Minute })
		r.say("one", true)
		synctest.Wait()
		r.agent.Model = streaming{r.model, func(ctx context.Context, show func(string)) (llm.Response, error) {
			show("wait")
			time.Sleep(90 * time.Second)
			show(" here")
			return blockUntilCanceled(ctx, 0, llm.Request{})
		}}
		r.hub.Renew(access.Rules{})
		r.say("two", true)
		time.Sleep(2 * time.Minute)
		r.connector.note(func() {
			sent := slices.Index(r.connector.seen, "sent answer 1") // whose draft shows unless the sender still looks for earlier ones
			check.EqualAll(t, "seen before the model goes on", r.connector.seen[max(sent, 0):], []string{"sent answer 1", "shown wait", "shown wait here"})
			r.connector.delay = 0
		})
		r.wantAnswer("/stop", "Stopped")
		r.waitForReplies()
		check.Equal(t, "sent", r.lastText(), "wait here")
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
		r.connector.seen = nil
		r.connector.delay = 0
		r.restart()
		r.waitForReplies()
		check.Equal(t, "first piece people see", r.connector.seen[0], "sent answer in words")
	})
}

// silentConnector shows nothing of a compaction itself, and puts reactions on messages.
type silentConnector struct {
	channel.Connector
	inner *connector
	marks []string
}

func (d *silentConnector) wrap(inner *connector) {
	d.Connector = inner
	d.inner = inner
}

func (d *silentConnector) React(_ context.Context, conversation, id string, _ channel.Reaction) error {
	d.inner.note(func() { d.marks = append(d.marks, conversation+" "+id) })
	return nil
}

func TestCompactionNotices(t *testing.T) {
	good := always(summary("They talked of a quick brown fox."))
	bad := failing(errors.New("broken"))
	for _, test := range []struct {
		notify string
		tokens int // the window: an emergency; 0: /compact
		worker script
		marks  []string
		notice string
	}{
		{"off", 0, good, nil, ""},
		{"off", 3000, good, nil, ""}, // equally silent
		{"message", 0, good, nil, "(I summarized 16 older messages. Nothing is lost.)"},
		{"message", 3000, good, nil, "older messages to make room"},
		{"reaction", 0, good, []string{place + " m20"}, ""},
		{"message", 0, bad, nil, ""},
		{"reaction", 0, bad, nil, ""},
	} {
		name := fmt.Sprintf("%s, window %d, notice %q: ", test.notify, test.tokens, test.notice)
		r := newRig(t, echo)
		r.setFilePolicy(func(p *compactor.Policy) {
			p.Notify = test.notify
			p.Enabled = test.tokens == 0
		})
		r.model.Tokens = test.tokens
		r.agent.Worker = &llmtest.Model{Func: test.worker}
		var ended atomic.Int32
		r.opts.After = func(conversation string, e channel.Event) {
			check.Equal(t, "conversation of the event", conversation, place)
			if e.State == compactor.EventApplied || e.State == compactor.EventFailed {
				ended.Add(1)
			}
		}
		connector := &silentConnector{}
		r.throughConnector(connector)
		for range 20 {
			r.say(strings.Repeat("the quick brown fox ", 20), false)
		}
		r.waitForReplies()
		if test.tokens == 0 {
			r.run("/compact")
		}
		for range 2 { // the second waits for the effects of the first
			check.NoError(t, r.hub.Drain(t.Context()))
		}
		check.That(t, ended.Load() != 0, "%sgot no applied summary: the test proves nothing", name)
		r.overhear("and on it goes")
		check.Lacks(t, name+"transcript", texts(r.transcript()), "assistant")
		noticed := 0 // on a busy machine, messages may arrive in parts, and need two emergencies
		r.connector.note(func() { noticed = len(r.connector.sent) })
		r.restart()
		r.run("/new") // whose answer says it
		r.overhear("anew")
		r.stop()
		check.Equal(t, name+"there is a notice", noticed > 0, test.notice != "")
		check.That(t, noticed <= 1 || test.tokens > 0 && noticed == 2, "%sgot %d notices", name, noticed)
		check.Len(t, name+"notices, also after a restart", r.connector.sent, noticed)
		for _, p := range r.connector.sent {
			check.Contains(t, name+"notice", p.Text, test.notice)
			check.Equal(t, name+"it is no answer", p.Failure, true)
		}
		check.EqualAll(t, name+"reactions", connector.marks, test.marks)
	}
}

func TestPeopleSeeThatAnswerWasCutOff(t *testing.T) {
	for finish, notice := range map[string]string{
		llm.FinishLength: "(Meine Antwort wurde an der Längengrenze abgeschnitten. Bitte mich, fortzufahren.)",
		llm.FinishFilter: "(Der Filter des Anbieters hat den Rest meiner Antwort zurückgehalten.)",
	} {
		resp := llmtest.Say("The harbour wall was built")
		resp.FinishReason = finish
		r := newRig(t, always(resp))
		r.agent.Language = "de"
		log := r.captureLog()
		r.ask("Tell me about the harbour.")
		check.Equal(t, "log lines", log.lines(slog.LevelInfo, "answer_cut_off"), 1)
		r.restart()
		r.waitForReplies()
		sent := r.connector.sent
		check.EqualAll(t, "sent, also after a restart", r.connector.texts(), []string{resp.Message.Text, notice})
		check.That(t, !sent[0].Failure && channel.IsNotice(sent[1]), "got sent %+v", sent)
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: Tell me about the harbour.", "assistant: The harbour wall was built"})
	}
}
