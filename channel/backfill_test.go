package channel_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/chat"
	"cairn/testkit/check"
	"cairn/testkit/storetest"

	_ "github.com/mattn/go-sqlite3"
)

// platform is a connector that can look things up: what people wrote, and what a message lacks.
type platform struct {
	*connector
	messages []channel.Inbound // with numbers as ids; the bot's are by "bot"; connector.mu guards messages, requests and fails
	requests []string
	fails    error                                          // of each request
	pageSize int                                            // max messages per page after one; 0: as many as requested
	hides    bool                                           // it hides that there are more
	blind    bool                                           // it never reports which messages a page has
	history  func(channel.Look) (channel.Page, error)       // instead of messages
	complete func(channel.Inbound) (channel.Inbound, error) // nil: no message lacks anything
}

func (p *platform) wrap(inner *connector) { p.connector = inner }

func (p *platform) History(_ context.Context, _ string, look channel.Look) (page channel.Page, err error) {
	if p.history != nil {
		return p.history(look)
	}
	p.connector.mu.Lock()
	defer p.connector.mu.Unlock()
	p.requests = append(p.requests, "after "+look.After+" before "+look.Before)
	if p.fails != nil {
		return page, p.fails
	}
	var found []channel.Inbound
	for _, m := range p.messages {
		if n := number(m.ID); look.Before != "" && n < number(look.Before) || look.Before == "" && n > number(look.After) {
			found = append(found, m)
		}
	}
	if look.Before != "" {
		return channel.Page{Messages: found[max(0, len(found)-look.Limit):]}, nil
	}
	limit := cmp.Or(p.pageSize, look.Limit)
	page.More = len(found) > limit && !p.hides
	page.There = []string{}
	for _, m := range found[:min(len(found), limit)] {
		page.There = append(page.There, m.ID)
		page.Last = m.ID
		if m.AuthorID != "bot" {
			page.Messages = append(page.Messages, m)
		}
	}
	if p.blind {
		page.There = nil
	}
	return page, nil
}

func number(id string) (n int) {
	_, _ = fmt.Sscan(id, &n)
	return n
}

func (p *platform) Complete(_ context.Context, _ string, m channel.Inbound) (channel.Inbound, error) {
	if p.complete == nil {
		return m, nil
	}
	return p.complete(m)
}

func pastMessage(id, text string, age time.Duration, addressed bool) channel.Inbound {
	return channel.Inbound{ID: id, AuthorID: "u1", Author: "Ada", Text: text, Time: time.Now().Add(-age), Addressed: addressed}
}

func texts(lines []string) string { return strings.Join(lines, " | ") }

func (r *rig) messagesIn(name string) []chat.Message {
	r.t.Helper()
	return check.Must(storetest.Find(r.t, r.store, name).Transcript().Page(r.t.Context(), 1, 10_000))(r.t)
}

// away loses the connection and connects again, after which messages may have been missed.
func (r *rig) away() { r.t.Helper(); check.Must(r.hub.Away(r.t.Context(), "test", nil, nil))(r.t) }

func (r *rig) catchUp() {
	r.t.Helper()
	check.NoError(r.t, r.hub.CatchUp(r.t.Context(), place, ""))
	r.waitForReplies()
}

// missedMessages are one that the bot heard, four that it missed, the first too old to be answered, and a live one.
func missedMessages() []channel.Inbound {
	return []channel.Inbound{
		pastMessage("1", "one", 4*time.Hour, false), pastMessage("2", "two", 3*time.Hour, true), pastMessage("3", "three", 7*time.Minute, false),
		pastMessage("4", "four", 6*time.Minute, true), pastMessage("5", "five", 5*time.Minute, false), pastMessage("9", "nine", 0, true),
	}
}

func TestMissedMessagesAreReadFirst(t *testing.T) {
	p := &platform{messages: missedMessages(), pageSize: 2}
	r := newRig(t, echo).throughConnector(p)
	r.post(p.messages[0])
	for range 2 { // nothing is read before the process ends
		gaps := check.Must(r.hub.Away(t.Context(), "test", nil, nil))(t)
		check.EqualAll(t, "open gaps", gaps, []channel.Gap{{Conversation: place, After: "1"}})
		r.reopen()
	}
	r.post(p.messages[5]) // before anyone reports that there is something to catch up on
	r.catchUp()
	check.Equal(t, "the transcript", texts(r.transcript()), "user: one | user: two | user: three | user: four | user: five | user: nine | assistant: answer 1")
	check.EqualAll(t, "reply addresses", r.connector.sent[0].To, []string{"4", "9"})
	check.Equal(t, "open gaps", check.Must(r.hub.Away(t.Context(), "test", nil, nil))(t)[0].After, "9")
}

// A temporary failure keeps the gap, blocks no messages, and is one warning; a permanent one closes the gap.
func TestUnreadableGaps(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		p := &platform{messages: missedMessages(), fails: errors.New("503")}
		p.messages[1].Addressed = false
		log := r.throughConnector(p).captureLog()
		r.post(p.messages[0])
		r.away()
		check.NoError(t, r.hub.NothingMissed(t.Context(), place)) // without a gap no history is read
		r.post(p.messages[1])
		check.Len(t, "requests without a gap", p.requests, 0)
		r.away()
		r.post(p.messages[5])
		check.Equal(t, "transcript", texts(r.transcript()), "user: one | user: two | user: nine | assistant: answer 1")
		time.Sleep(10 * time.Minute)
		check.Equal(t, "warnings in ten minutes", log.lines(slog.LevelWarn, "backfill_failed"), 1)
		p.note(func() { p.fails = nil })
		time.Sleep(time.Minute)
		r.waitForReplies()
		check.Len(t, "transcript", r.transcript(), 8)
		p.note(func() { p.fails = fmt.Errorf("history: %w", channel.ErrGone) })
		r.away()
		r.post(pastMessage("10", "ten", 0, true))
		asked := len(p.requests)
		time.Sleep(time.Hour) // a retry would come in this time
		r.post(pastMessage("11", "eleven", 0, false))
		check.Len(t, "history requests", p.requests, asked)
	})
}

func TestGapSurvivesOwnerStart(t *testing.T) {
	r := newRig(t, echo).throughConnector(&platform{messages: []channel.Inbound{pastMessage("1", "one", time.Minute, false), pastMessage("2", "two", time.Minute, false)}})
	var places []string
	for i := range 12 {
		places = append(places, fmt.Sprintf("test:server/quiet%d", i))
		r.runAs(access.Person{}, places[i], "/context") // no one writes a message
	}
	r.reopen()
	r.away()
	for _, name := range places {
		check.NoError(t, r.hub.CatchUp(t.Context(), name, "1"))
	}
	for _, name := range places {
		r.waitIdle(name)
		check.Len(t, name, r.messagesIn(name), 1)
	}
}

func TestBatchDelivery(t *testing.T) {
	r := newRig(t, echo).withRules(access.Rules{Access: map[string]access.Access{"test": {Deny: []string{"u9"}}}})
	all := []channel.Inbound{
		pastMessage("a", "one", 0, false), pastMessage("b", "two", 0, true),
		by("u9", "Ada", pastMessage("c", "unheard", 0, false)), pastMessage("d", "one", 0, false),
	}
	for range 2 {
		check.NoError(t, r.hub.DeliverAll(t.Context(), place, append(all, all[1])))
		r.waitForReplies()
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: one", "user: two", "user: one", "assistant: answer 1"}) // each ID once
	}
}

// What a history returns during a change is as old as its request; what arrives meanwhile waits.
func TestSecondGapDuringBackfill(t *testing.T) {
	p := &platform{}
	calls := 0
	r := newRig(t, echo).throughConnector(p)
	p.history = func(look channel.Look) (page channel.Page, err error) {
		if look.Before != "" {
			return page, nil
		}
		calls++
		if calls == 1 { // the connection is lost again, and a message of the next session arrives
			r.away()
			r.deliverMessage(pastMessage("4", "four", 0, false))
			return pageOf("2", pastMessage("2", "two", 3*time.Minute, false)), nil
		}
		return pageOf("3", pastMessage("3", "three", time.Minute, false)), nil
	}
	r.post(pastMessage("1", "one", 5*time.Minute, false))
	r.away()
	r.catchUp()
	check.EqualAll(t, "order", r.transcript(), []string{"user: one", "user: two", "user: three", "user: four"})
}

// slow is a platform whose clock is an hour ahead of this machine's.
type slow struct{ *platform }

func (slow) PlatformTime(host time.Time) time.Time { return host.Add(time.Hour) }

// Messages have the platform's times, so a request for a session has, too: what was missed before it belongs before the session.
func TestSessionBeginsByThePlatformsClock(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		p := &platform{messages: missedMessages()}
		for i := range p.messages {
			p.messages[i].Time = p.messages[i].Time.Add(time.Hour)
		}
		r.throughConnector(slow{p})
		r.post(p.messages[0])
		answers := &platform{connector: p.connector, messages: p.messages}
		release := make(chan struct{}) // the history answers after /new
		p.history = func(look channel.Look) (channel.Page, error) {
			<-release
			return answers.History(t.Context(), place, look)
		}
		r.away()
		check.NoError(t, r.hub.CatchUp(t.Context(), place, ""))
		synctest.Wait()
		live := p.messages[5]
		live.Time = time.Now().Add(time.Hour)
		check.Must(r.hub.Deliver(t.Context(), place, live))(t)
		r.run("/new")
		close(release)
		r.waitForReplies()
		check.Equal(t, "the transcript", texts(r.transcript()), "user: one | user: two | user: three | user: four | user: five | user: nine | assistant: answer 1")
		check.Contains(t, "the prompt of the old session", textOf(r.model.Requests()[0]), "Ada] one", "Ada] five", "Ada] nine")
		check.Contains(t, "the new session", r.run("/context"), "messages  7, of which 0 verbatim")
	})
}
