package slack

import (
	"testing"
	"time"

	"cairn/testkit/check"
)

func TestAGateKeepsRequests(t *testing.T) {
	g := &gate{tier: tier{limit: 3, background: 2}, window: time.Minute}
	kept := func(want bool) (done func()) {
		t.Helper()
		done, wait := g.keep()
		check.Equal(t, "a request is kept", wait == 0, want)
		return done
	}
	taken := func(inBackground, want bool) {
		t.Helper()
		check.Equal(t, "a request is let through", g.take(0, inBackground) == 0, want)
	}
	first := kept(true)
	kept(true)
	taken(true, true)
	kept(false)
	taken(true, false) // it would take one that is kept
	first()
	taken(false, true)
	taken(true, false)
	taken(false, true)
	taken(false, false)
}

// Slack allows 50 edits a minute, and 200 posts: an answer does not wait for an edit that would finish its draft.
func TestAnswersAreNotShownWhileTheyAreWrittenWithoutAnEditLeft(t *testing.T) {
	r := idle(t)
	edits := r.connector.api.gates.of("chat.update")
	var all []func()
	for range edits.limit {
		done, wait := edits.keep()
		check.Equal(t, "wait", wait, 0)
		all = append(all, done)
	}
	q := r.question(false)
	w := r.reply(q)
	w.Show("One two thr")
	r.send(w, piece("One two three four."))
	r.answered(q.channel, "One two three four.")
	check.Len(t, "edits", r.w.Calls("chat.update"), 0)
	next := r.question(false)
	w = r.reply(next)
	w.Show("One two thr")
	all[0]()
	r.shows(next.channel, "One two")
	r.send(w, piece("One two three four."))
	check.Len(t, "edits", r.w.Calls("chat.update"), 1)
}
