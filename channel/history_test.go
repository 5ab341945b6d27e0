package channel_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"

	"cairn/channel"
	"cairn/privacy"
)

// reader is a connector whose history is a function.
type reader struct {
	*connector
	history  func(ctx context.Context, after, before string) ([]channel.Inbound, string, bool, error)
	complete func(ctx context.Context, m channel.Inbound) (channel.Inbound, error)
}

func (p *reader) History(ctx context.Context, _ string, look channel.Look) (page channel.Page, err error) {
	if p.history != nil {
		page.Said, page.Last, page.More, err = p.history(ctx, look.After, look.Before)
	}
	return page, err
}

func (p *reader) wrap(inner *connector) { p.connector = inner }

func (p *reader) Complete(ctx context.Context, _ string, m channel.Inbound) (channel.Inbound, error) {
	if p.complete == nil {
		return m, nil
	}
	return p.complete(ctx, m)
}

func (r *rig) disconnectAndReconnect() {
	r.t.Helper()
	check.Must(r.hub.Away(r.t.Context(), "test", nil))(r.t)
}

func (r *rig) becomesIdle(within time.Duration) bool {
	ctx, cancel := context.WithTimeout(r.t.Context(), within)
	defer cancel()
	return r.hub.Idle(ctx, place) == nil
}

// Whatever a history returns, the message after the gap is answered.
func TestFaultyHistory(t *testing.T) {
	for name, history := range map[string]func(after, before string) ([]channel.Inbound, string, bool, error){
		"it stalls": func(after, before string) ([]channel.Inbound, string, bool, error) {
			return nil, after, before == "", nil
		}, // always more, from the same message
		"a message without an id": func(string, string) ([]channel.Inbound, string, bool, error) {
			return []channel.Inbound{pastMessage("", "no id", time.Minute, false)}, "", false, nil
		},
		"it panics": func(string, string) ([]channel.Inbound, string, bool, error) { panic("history") },
	} {
		t.Run(name, func(t *testing.T) {
			p := &reader{history: func(_ context.Context, after, before string) ([]channel.Inbound, string, bool, error) {
				return history(after, before)
			}}
			r := newRig(t, echo).throughConnector(p)
			r.post(pastMessage("1", "one", time.Minute, false))
			r.disconnectAndReconnect()
			r.deliverMessage(pastMessage("2", "two", 0, true))
			r.becomesIdle(3 * time.Second)
			check.Len(t, "answers", r.connector.texts(), 1)
		})
	}
}

func TestSecondGapDuringBackfill(t *testing.T) {
	p := &reader{}
	r := newRig(t, echo).throughConnector(p)
	calls := 0
	p.history = func(_ context.Context, after, before string) ([]channel.Inbound, string, bool, error) {
		if before != "" {
			return nil, "", false, nil
		}
		calls++
		if calls == 1 { // the connection is lost again, and a message of the next session arrives
			r.disconnectAndReconnect()
			r.deliverMessage(pastMessage("4", "four", 0, false))
			return []channel.Inbound{pastMessage("2", "two", 3*time.Minute, false)}, "2", false, nil
		}
		return []channel.Inbound{pastMessage("3", "three", time.Minute, false)}, "3", false, nil
	}
	r.post(pastMessage("1", "one", 5*time.Minute, false))
	r.disconnectAndReconnect()
	check.NoError(t, r.hub.CatchUp(t.Context(), place, ""))
	r.waitForReplies()
	check.EqualAll(t, "order", r.transcript(), []string{"user: one", "user: two", "user: three", "user: four"})
}

func TestUnreadableGapLogsOneWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &reader{history: func(context.Context, string, string) ([]channel.Inbound, string, bool, error) {
			return nil, "", false, errors.New("503")
		}}
		r := newRig(t, echo).throughConnector(p)
		log := r.captureLog()
		r.post(pastMessage("1", "one", 0, false))
		r.disconnectAndReconnect()
		check.NoError(t, r.hub.CatchUp(t.Context(), place, ""))
		r.waitForReplies()
		time.Sleep(10 * time.Minute)
		r.stop()
		check.Equal(t, "warnings in ten minutes", log.lines(slog.LevelWarn, "backfill_failed"), 1)
	})
}

func TestUnreadablePastLogsOneWarning(t *testing.T) {
	p := &reader{history: func(context.Context, string, string) ([]channel.Inbound, string, bool, error) {
		return nil, "", false, errors.New("403: the bot may not read the history")
	}}
	r := newRig(t, echo).throughConnector(p)
	log := r.captureLog()
	for range 3 {
		r.ask("hello")
	}
	check.Equal(t, "warnings", log.lines(slog.LevelWarn, "read_earlier_history_failed"), 1)
}

func TestBackfilledMessageIsDeliveredAgain(t *testing.T) {
	p := &reader{}
	r := newRig(t, echo).throughConnector(p)
	p.history = func(_ context.Context, after, before string) ([]channel.Inbound, string, bool, error) {
		return []channel.Inbound{pastMessage("1", "bot, what is up?", time.Second, true)}, "", false, nil
	}
	r.post(pastMessage("2", "bot, hello", 0, true)) // it overtook the first: events may be redelivered in any order
	r.post(pastMessage("1", "bot, what is up?", time.Second, true))
	check.EqualAll(t, "answered", r.connector.sent[0].To, []string{"1", "2"})
	check.EqualAll(t, "transcript", r.transcript()[:2], []string{"user: bot, what is up?", "user: bot, hello"})
}

func TestEditsDuringBackfill(t *testing.T) {
	for _, which := range []string{"gap", "earlier"} {
		t.Run(which, func(t *testing.T) {
			p := &reader{}
			r := newRig(t, echo).throughConnector(p)
			p.history = func(_ context.Context, after, before string) ([]channel.Inbound, string, bool, error) {
				if (which == "gap") != (after != "") {
					return nil, "", false, nil
				}
				said := []channel.Inbound{pastMessage("2", "the secret is swordfish", time.Minute, false), pastMessage("3", "tyop", time.Minute, false)}
				// The page was read; its author deletes the message before it is stored.
				check.NoError(t, errors.Join(r.hub.Delete(t.Context(), place, "2"),
					r.hub.Edit(t.Context(), place, channel.Inbound{ID: "3", Text: "typo", Time: time.Now()})))
				return said, "3", false, nil
			}
			r.post(pastMessage("1", "one", 5*time.Minute, false))
			if which == "gap" {
				r.disconnectAndReconnect()
			}
			r.post(pastMessage("4", "four", 0, true))
			got := texts(r.transcript())
			check.Lacks(t, "transcript", got, "swordfish")
			check.Lacks(t, "transcript", got, "tyop")
		})
	}
}

// What a person said before /forget me does not come back with a page of the history that is stored
// later, neither in their own messages nor in quotes.
func TestForgetMeDuringBackfill(t *testing.T) {
	by := func(id, name string, m channel.Inbound) channel.Inbound {
		m.AuthorID, m.Author = id, name
		return m
	}
	for _, which := range []string{"gap", "gap after a restart", "earlier", "earlier question"} {
		t.Run(which, func(t *testing.T) {
			p := &reader{}
			r := newRig(t, echo).throughConnector(p)
			gap, read := strings.HasPrefix(which, "gap"), false
			p.history = func(_ context.Context, after, before string) ([]channel.Inbound, string, bool, error) {
				if gap != (after != "") {
					return nil, "", false, nil
				}
				quoting := by("u2", "Bo", pastMessage("3", "I like tea", time.Minute, false))
				quoting.ReplyTo, quoting.Quote = "2", "Ada: the secret is swordfish"
				said := []channel.Inbound{pastMessage("2", "the secret is swordfish", time.Minute, which == "earlier question"), quoting}
				if !read { // the author wants to be forgotten before the page is stored
					read = true
					check.HasPrefix(t, "answer", r.finished(r.runAs(ada, place, "/forget me yes")), "Deleted: everything of yours")
					if which == "gap after a restart" {
						return nil, "", false, errors.New("503")
					}
				}
				if gap {
					said = append(said, pastMessage("5", "I am back", -time.Minute, false))
				}
				return said, "5", false, nil
			}
			r.post(pastMessage("1", "one", 5*time.Minute, false))
			if gap {
				r.disconnectAndReconnect()
			}
			r.post(by("u2", "Bo", pastMessage("4", "four", 0, true)))
			if which == "gap after a restart" {
				r.restart()
				check.NoError(t, r.hub.CatchUp(t.Context(), place, ""))
				r.waitForReplies()
			}
			all := texts(r.transcript())
			check.Contains(t, "transcript", all, "four")
			if gap {
				check.Contains(t, "transcript", all, "I like tea", "I am back")
			}
			check.Equal(t, "messages with the text", storetest.Number(t, r.store, "SELECT count(*) FROM messages WHERE text || quote LIKE '%swordfish%'"), 0)
			r.restart() // which ends the erasure
			r.waitForReplies()
			r.post(by("u2", "Bo", pastMessage("6", "six", 0, false)))
			r.erased()
			if gap { // whose pages may come again
				r.post(pastMessage("2", "the secret is swordfish", time.Minute, false))
				check.Lacks(t, "transcript", texts(r.transcript()), "swordfish")
			}
		})
	}
}

// erased waits until every erasure has ended.
func (r *rig) erased() {
	r.t.Helper()
	if !check.Soon(func() bool { return len(check.Must(privacy.In(r.store).Erasures(r.t.Context()))(r.t)) == 0 }) {
		r.t.Error("the erasure does not end")
	}
}

func TestHistoryPanics(t *testing.T) {
	p := &reader{history: func(context.Context, string, string) ([]channel.Inbound, string, bool, error) { panic("history") }}
	r := newRig(t, echo).throughConnector(p)
	r.deliverMessage(pastMessage("2", "two", 0, true))
	r.becomesIdle(3 * time.Second)
	check.Equal(t, "answers", len(r.connector.texts()), 1)
}

// deliverDuringHistory returns a rig whose hub, once armed, runs f after the owner has checked what it may
// have missed, and before it takes up messages.
func deliverDuringHistory(t *testing.T, p *reader, f func(r *rig)) (r *rig, armed *atomic.Bool) {
	r, armed = newRig(t, echo), new(atomic.Bool)
	r.agent.Model = &windowRecorder{r.model, func() {
		if armed.CompareAndSwap(true, false) {
			f(r)
		}
	}}
	return r.throughConnector(p), armed
}

func TestDeliveriesWaitForBackfill(t *testing.T) {
	t.Run("an addressed message arrives after the check for earlier messages", func(t *testing.T) {
		p := &reader{history: func(_ context.Context, after, before string) ([]channel.Inbound, string, bool, error) {
			if before != "4" {
				return nil, "", false, nil
			}
			return []channel.Inbound{pastMessage("1", "one", 4*time.Minute, false)}, "", false, nil
		}}
		r, armed := deliverDuringHistory(t, p, func(r *rig) { r.deliverMessage(pastMessage("4", "bot, hello", 0, true)) })
		r.post(pastMessage("2", "two", 3*time.Minute, false))
		armed.Store(true)
		r.deliverMessage(pastMessage("3", "three", 2*time.Minute, false))
		r.connector.until(t, "the addressed message", func() bool { return r.connector.countTaken() == 3 })
		r.waitForReplies()
		check.EqualAll(t, "transcript", r.transcript()[:4], []string{"user: two", "user: three", "user: one", "user: bot, hello"})
	})
	t.Run("a message arrives after the check for an older gap", func(t *testing.T) {
		p := &reader{history: func(_ context.Context, after, before string) ([]channel.Inbound, string, bool, error) {
			if after != "2" {
				return nil, "", false, nil
			}
			return []channel.Inbound{pastMessage("3", "three", time.Second, false)}, "3", false, nil
		}}
		r, armed := deliverDuringHistory(t, p, func(r *rig) {
			r.disconnectAndReconnect()
			r.deliverMessage(pastMessage("4", "four", 0, false))
		})
		r.post(pastMessage("1", "one", 5*time.Minute, false))
		armed.Store(true)
		r.deliverMessage(pastMessage("2", "two", 4*time.Minute, false))
		r.connector.until(t, "the last message", func() bool { return r.connector.countTaken() == 4 })
		r.waitForReplies()
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: one", "user: two", "user: three", "user: four"})
	})
}
