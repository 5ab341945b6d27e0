package channel_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/store"

	_ "github.com/mattn/go-sqlite3"
)

// platform is a connector that can look things up: earlier messages and their attachments.
type platform struct {
	*connector
	mu       sync.Mutex // guards everything below
	said     []channel.Inbound
	page     int   // messages per page; 0: as many as requested
	broken   error // error returned by History
	asked    []string
	complete func(m channel.Inbound) (channel.Inbound, error)
}

func (p *platform) History(_ context.Context, _ string, look channel.Look) (channel.Page, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, "after "+look.After+" before "+look.Before)
	if p.broken != nil {
		return channel.Page{}, p.broken
	}
	limit := look.Limit
	if p.page > 0 {
		limit = p.page
	}
	var found []channel.Inbound
	for i, m := range p.said {
		if m.ID == look.Before {
			return channel.Page{Said: p.said[max(0, i-limit):i]}, nil
		}
	}
	for i, m := range p.said {
		if m.ID == look.After {
			found = p.said[i+1:]
		}
	}
	if len(found) <= limit {
		return channel.Page{Said: found}, nil
	}
	return channel.Page{Said: found[:limit], Last: found[limit-1].ID, More: true}, nil
}

func (p *platform) wrap(inner *connector) { p.connector = inner }

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

func reconnectConnector(r *rig) {
	r.t.Helper()
	gaps, err := r.hub.Away(r.t.Context(), "test", nil)
	if err != nil || len(gaps) != 1 || gaps[0] != (channel.Gap{Conversation: place, After: "1"}) {
		r.t.Fatalf("%+v, %v", gaps, err)
	}
}

// missedMessages are a message that the bot heard, four that it missed, and one that it hears live.
func missedMessages() []channel.Inbound {
	return []channel.Inbound{
		pastMessage("1", "one", 9*time.Minute, false), pastMessage("2", "two", 8*time.Minute, true), pastMessage("3", "three", 7*time.Minute, false),
		pastMessage("4", "four", 6*time.Minute, true), pastMessage("5", "five", 5*time.Minute, false), pastMessage("9", "nine", 0, true),
	}
}

func TestMissedMessagesAreReadFirst(t *testing.T) {
	missed := missedMessages()
	first, live := missed[0], missed[5]
	t.Run("missed messages are stored once, in the platform's order", func(t *testing.T) {
		p := &platform{said: missed, page: 2}
		r := newRig(t, echo).throughConnector(p)
		r.post(first)
		r.reopen()
		reconnectConnector(r)
		r.post(live) // before anyone reports that there is something to catch up on
		check.NoError(t, r.hub.CatchUp(t.Context(), place, ""))
		r.waitForReplies()
		got := texts(r.transcript())
		check.Equal(t, "the transcript", got, "user: one | user: two | user: three | user: four | user: five | user: nine | assistant: answer 1")
		check.Equal(t, "reply addresses", fmt.Sprint(r.connector.sent[0].To), "[2 4 9]")
		check.Equal(t, "open gaps", check.Must(r.hub.Away(t.Context(), "test", nil))(t)[0].After, "9")
	})
	t.Run("a backfill resumes after a crash", func(t *testing.T) {
		p := &platform{said: missed, page: 2}
		r := newRig(t, echo).throughConnector(p)
		r.post(first)
		reconnectConnector(r)
		r.stop() // nothing was read
		r.start()
		if gaps, err := r.hub.Away(t.Context(), "test", nil); err != nil || gaps[0].After != "1" {
			t.Fatalf("%+v, %v", gaps, err)
		}
		r.post(live)
		check.HasPrefix(t, "the transcript", texts(r.transcript()), "user: one | user: two | user: three | user: four | user: five | user: nine")
	})
	t.Run("old missed messages are context only", func(t *testing.T) {
		old := []channel.Inbound{first, pastMessage("2", "two", 3*time.Hour, true), pastMessage("3", "three", 2*time.Hour, false)}
		r := newRig(t, echo).throughConnector(&platform{said: old})
		r.post(first)
		reconnectConnector(r)
		check.NoError(t, r.hub.CatchUp(t.Context(), place, ""))
		r.waitForReplies()
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: one", "user: two", "user: three"})
		check.EqualAll(t, "sent", r.connector.texts(), nil)
	})
}

func TestUnreadableGaps(t *testing.T) {
	missed := missedMessages()
	first, live := missed[0], missed[5]
	t.Run("a temporary failure keeps the gap, and does not block messages", func(t *testing.T) {
		p := &platform{said: missed, broken: errors.New("the platform is down")}
		r := newRig(t, echo).throughConnector(p)
		r.post(first)
		reconnectConnector(r)
		r.post(live)
		check.EqualAll(t, "transcript", r.transcript(), []string{"user: one", "user: nine", "assistant: answer 1"})
		p.mu.Lock()
		p.broken = nil
		p.mu.Unlock()
		r.reopen()
		check.NoError(t, r.hub.CatchUp(t.Context(), place, ""))
		r.waitForReplies()
		if n := len(r.transcript()); n != 8 {
			t.Errorf("%d rows: %q", n, r.transcript())
		}
	})
	t.Run("a permanent failure closes the gap", func(t *testing.T) {
		p := &platform{broken: fmt.Errorf("history: %w", channel.ErrGone)}
		r := newRig(t, echo).throughConnector(p)
		r.post(first)
		reconnectConnector(r)
		r.post(live)
		n := len(p.asked)
		r.post(pastMessage("10", "ten", 0, false))
		check.Len(t, "history requests", p.asked, n)
	})
	t.Run("without a gap no history is read", func(t *testing.T) {
		p := &platform{said: missed}
		r := newRig(t, echo).throughConnector(p)
		r.post(first)
		reconnectConnector(r)
		check.NoError(t, r.hub.NothingMissed(t.Context(), place))
		r.post(pastMessage("6", "six", 0, false))
		check.Len(t, "requests", p.asked, 0)
	})
	t.Run("a new conversation starts where the connector says", func(t *testing.T) {
		r := newRig(t, echo).throughConnector(&platform{said: missed})
		check.NoError(t, r.hub.CatchUp(t.Context(), place, "3"))
		r.waitForReplies()
		check.Contains(t, "the transcript", texts(r.transcript()), "user: four | user: five | user: nine | assistant")
	})
}

func TestGapSurvivesOwnerStart(t *testing.T) {
	r := newRig(t, echo).throughConnector(&platform{said: []channel.Inbound{pastMessage("1", "one", time.Minute, false), pastMessage("2", "two", time.Minute, false)}})
	var places []string
	for i := range 30 {
		places = append(places, fmt.Sprintf("test:server/quiet%d", i))
		r.runAs(channel.Person{}, places[i], "/context") // no one writes a message
	}
	r.reopen()
	check.Must(r.hub.Away(t.Context(), "test", nil))(t)
	for _, name := range places {
		check.NoError(t, r.hub.CatchUp(t.Context(), name, "1"))
	}
	for _, name := range places {
		r.waitIdle(name)
		conversation := check.Must(r.store.Find(t.Context(), name))(t)
		check.Len(t, name, check.Must(conversation.Transcript().Page(t.Context(), 1, 10))(t), 1)
	}
}

func TestBatchDelivery(t *testing.T) {
	r := newRig(t, echo).withRules(channel.Rules{Access: map[string]channel.Access{"test": {Deny: []string{"u9"}}}})
	var all []channel.Inbound
	for i := range 10 {
		all = append(all, pastMessage(fmt.Sprint("a", i), fmt.Sprint("text ", i), 0, i == 5))
	}
	all[3].AuthorID = "u9"
	all = append(all, all[7])
	check.NoError(t, r.hub.DeliverAll(t.Context(), place, all))
	r.waitForReplies()
	check.Equal(t, "transcript", texts(r.transcript()), "user: text 0 | user: text 1 | user: text 2 | user: text 4 | user: text 5 | user: text 6 | user: text 7 | user: text 8 | user: text 9 | assistant: answer 1")
}

// TestDeliveriesDuringRewrite: another connection holds the database's lock, so that
// the rewrite takes as long as the test wants.
func TestDeliveriesDuringRewrite(t *testing.T) {
	r := newRig(t, echo)
	r.ask("before")
	other := check.Must(sql.Open("sqlite3", store.File(r.dir)))(t)
	defer other.Close()
	blocker := check.Must(other.Conn(t.Context()))(t)
	defer blocker.Close()
	check.Must(blocker.ExecContext(t.Context(), "BEGIN IMMEDIATE"))(t)
	held, done := filepath.Join(r.dir, "cairn.held"), make(chan error)
	go func() {
		done <- r.store.Upkeep().Vacuum(context.Background())
	}()
	for {
		if _, err := os.Stat(held); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	r.say("meanwhile", true)
	m := r.inbound("from somewhere new", true)
	check.Must(r.hub.Deliver(t.Context(), "test:new/place", m))(t)
	if _, err := r.store.Find(t.Context(), "test:new/place"); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("got %v, want the database locked", err)
	}
	check.Must(blocker.ExecContext(t.Context(), "ROLLBACK"))(t)
	check.NoError(t, <-done)
	r.connector.until(t, "all are answered", func() bool { return len(r.connector.sent) == 3 })
	r.ask("afterwards")
	if texts := r.connector.texts(); len(texts) != 4 || !slices.ContainsFunc(r.transcript(), func(line string) bool { return line != "" }) {
		t.Errorf("got sent %q", texts)
	}
}
