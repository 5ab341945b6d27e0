package channel_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"cairn/internal/check"

	"cairn/channel"
)

// editableHistory is a connector with a history that people change.
type editableHistory struct {
	*connector
	said  []channel.Inbound
	most  int  // messages per page, whatever is requested; 0: no limit
	blind bool // it never reports which messages a page has
}

func (a *editableHistory) History(_ context.Context, _ string, look channel.Look) (p channel.Page, err error) {
	if look.After == "" {
		return p, nil
	}
	p.There = []string{}
	limit := look.Limit
	if a.most > 0 {
		limit = min(limit, a.most)
	}
	for _, m := range a.said {
		switch {
		case number(m.ID) <= number(look.After):
		case len(p.There) == limit:
			p.More = limit == look.Limit
		default:
			p.There, p.Last = append(p.There, m.ID), m.ID
			if m.AuthorID != "bot" {
				p.Said = append(p.Said, m)
			}
		}
	}
	if a.blind {
		p.There = nil
	}
	return p, nil
}

func number(id string) (n int) {
	_, _ = fmt.Sscan(id, &n)
	return n
}

func (a *editableHistory) edit(id, text string) {
	i := slices.IndexFunc(a.said, func(m channel.Inbound) bool { return m.ID == id })
	a.said[i].Text, a.said[i].Edited = text, time.Now()
}

func (a *editableHistory) remove(ids ...string) {
	a.said = slices.DeleteFunc(a.said, func(m channel.Inbound) bool { return slices.Contains(ids, m.ID) })
}

// withEditableHistory sends n messages, "message 1" and so on, an hour before the bot goes away.
func withEditableHistory(t *testing.T, n int) (r *rig, a *editableHistory) {
	t.Helper()
	a = &editableHistory{}
	r = newRig(t, echo)
	r.stop()
	a.connector = r.connector
	r.opts.Connectors = []channel.Connector{a}
	r.start()
	for i := range n {
		m := pastMessage(fmt.Sprint(1000+i+1), fmt.Sprint("message ", i+1), 0, false)
		a.said = append(a.said, m)
		r.deliverMessage(m)
	}
	r.waitForReplies()
	time.Sleep(time.Hour)
	return r, a
}

// reconnect ends an absence: the bot reads what it missed.
func (r *rig) reconnect() {
	r.t.Helper()
	r.restart()
	r.disconnectAndReconnect()
	check.NoError(r.t, r.hub.CatchUp(r.t.Context(), place, ""))
	r.waitForReplies()
}

var changesWhileAway = map[string]struct {
	n      int
	change func(r *rig, a *editableHistory)
	want   []string
}{
	"edits and deletions, and what was missed comes too": {
		5, func(_ *rig, a *editableHistory) {
			a.edit("1002", "message 2, corrected")
			a.remove("1003")
			a.said = append(a.said, pastMessage("1009", "missed", 0, false))
		},
		[]string{"user: message 1", "user: message 2, corrected", "user: message 4", "user: message 5", "user: missed"},
	},
	"the last message": {
		3, func(_ *rig, a *editableHistory) { a.remove("1003") },
		[]string{"user: message 1", "user: message 2"},
	},
	"the only message": {
		1, func(_ *rig, a *editableHistory) { a.remove("1001") },
		nil,
	},
	"what is behind more of the bot's own messages than a page has": {
		1, func(r *rig, a *editableHistory) {
			for i := range 250 {
				a.said = append(a.said, channel.Inbound{ID: fmt.Sprint(2000 + i), AuthorID: "bot"})
			}
			for _, id := range []string{"3001", "3002", "3003"} {
				m := pastMessage(id, "message "+id, 0, false)
				a.said = append(a.said, m)
				r.deliverMessage(m)
			}
			r.waitForReplies()
			time.Sleep(time.Hour)
			a.remove("3001", "3003")
			a.edit("3002", "corrected")
			a.said = append(a.said, pastMessage("3009", "missed", 0, false))
		},
		[]string{"user: message 1", "user: corrected", "user: missed"},
	},
	"nothing, where nothing was changed": {
		3, func(*rig, *editableHistory) {},
		[]string{"user: message 1", "user: message 2", "user: message 3"},
	},
	"nothing that an older edit says": {
		3, func(r *rig, a *editableHistory) {
			a.edit("1002", "old")
			time.Sleep(time.Minute)
			check.NoError(r.t, r.hub.Edit(r.t.Context(), place, channel.Inbound{ID: "1002", Text: "newest", Time: time.Now()}))
		},
		[]string{"user: message 1", "user: newest", "user: message 3"},
	},
	"nothing where it is not known what is on the page": {
		3, func(_ *rig, a *editableHistory) { a.remove("1002"); a.blind = true },
		[]string{"user: message 1", "user: message 2", "user: message 3"},
	},
	"nothing that was stored just now": {
		2, func(r *rig, a *editableHistory) {
			r.post(pastMessage("1005", "just now", 0, false)) // the history does not have it yet
		},
		[]string{"user: message 1", "user: message 2", "user: just now"},
	},
	"nothing that has an id of another kind": {
		2, func(r *rig, a *editableHistory) {
			r.post(pastMessage("import-abc", "from elsewhere", 0, false))
			time.Sleep(time.Hour)
		},
		[]string{"user: message 1", "user: message 2", "user: from elsewhere"},
	},
}

func TestMissedEditsAndDeletions(t *testing.T) {
	for name, c := range changesWhileAway {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, a := withEditableHistory(t, c.n)
				c.change(r, a)
				r.reconnect()
				check.EqualAll(t, "stored", r.transcript(), c.want)
				r.stop()
			})
		})
	}
	t.Run("a page cut short by the server ends the comparison", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, a := withEditableHistory(t, 80)
			a.most = 20
			a.remove("1040") // of the newest 50, these are the first 40 that are shown
			r.reconnect()
			if got := r.transcript(); len(got) != 79 || slices.Contains(got, "user: message 40") {
				t.Errorf("got %d of 80 messages: %q", len(got), got)
			}
			r.stop()
		})
	})
	t.Run("a question deleted before its answer is not answered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, a := withEditableHistory(t, 3)
			r.reopen()
			conv := check.Must(r.store.Conversation(t.Context(), place))(t)
			if _, err := conv.Inbox().Deliver(t.Context(), pastMessage("1004", "never mind", 0, true)); err != nil { // and then the process dies
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
			a.said = append(a.said, pastMessage("1005", "hello", 0, false))
			r.reopen()
			r.disconnectAndReconnect()
			check.NoError(t, r.hub.CatchUp(t.Context(), place, ""))
			r.waitForReplies()
			check.EqualAll(t, "stored", r.transcript(), []string{"user: message 1", "user: message 2", "user: message 3", "user: hello"})
			check.Len(t, "sent", r.connector.texts(), 0)
			r.stop()
		})
	})
}
