// After an absence: what was missed is read, in order, and nothing that was not.

package discord

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/channel"
	"cairn/discord/discordtest"
	"cairn/internal/check"
)

func TestAFreshBotReadsNoOldMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	r.ask(r.square, "before it came")
	r.start()
	other := r.Channel(r.guild.ID, "other").ID
	r.ask(other, "now")
	r.answers(other, 1)
	check.Equal(t, "requests for the old channel", len(r.Requests("GET /channels/"+r.square+"/messages")), 0)
	check.Len(t, "answers", r.sent(r.square), 0)
}

// TestTheMessageThatAddsTheBotToAThreadIsAnswered: Discord does not send it to a bot that is not there yet.
func TestTheMessageThatAddsTheBotToAThreadIsAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	thread := r.Thread(r.square, r.ann.ID, "in private").ID
	r.Drop(1)
	m := r.ask(thread, "join us")
	r.Dispatch("THREAD_CREATE", map[string]any{"id": thread, "type": 12, "guild_id": r.guild.ID, "parent_id": r.square, "name": "in private", "last_message_id": m.ID})
	check.EqualAll(t, "answers", r.answers(thread, 1), []string{"echo: join us"})
}

func TestTheVeryFirstMessageMayFallBetweenTwoSessions(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.Forget()
	r.Cut()
	r.ask(r.square, "hello")
	check.Equal(t, "it answered", r.answers(r.square, 1)[0], "echo: hello")
}

func TestAfterARestartWhatWasMissedIsAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	quiet, fresh, hidden := r.Channel(r.guild.ID, "quiet").ID, r.Channel(r.guild.ID, "fresh").ID, r.Channel(r.guild.ID, "hidden").ID
	thread := r.Thread(r.square, r.ann.ID, "plans").ID
	direct := r.Direct(r.ann.ID).ID
	r.start()
	for _, place := range []string{r.square, quiet, thread} {
		r.ask(place, "before")
		r.answers(place, 1)
	}
	r.Say(direct, r.ann.ID, "before")
	r.answers(direct, 1)
	r.Say(quiet, r.ann.ID, "the last word")
	r.heard(r.place(quiet), 2)
	r.stop()

	for i := range 150 { // more than a page
		r.Say(r.square, r.ann.ID, fmt.Sprint("while away ", i))
	}
	r.ask(r.square, "while away")
	r.Say(thread, r.ann.ID, "while away, in the thread") // where it answers unasked
	r.Say(direct, r.ann.ID, "while away")
	r.ask(fresh, "while away, where it never spoke")
	r.Deny(hidden, discordgo.PermissionViewChannel)
	r.ask(hidden, "where it may not read")
	r.tune = append(r.tune, func(d *Discord) { d.pauses.review = 0 })
	looked := len(r.Requests("GET /channels/" + quiet + "/messages"))
	r.restart()

	for place, want := range map[string]string{
		r.square: "echo: while away", thread: "echo: while away, in the thread", direct: "echo: while away",
	} {
		check.Equal(t, "it answered", r.answers(place, 2)[1], want)
	}
	check.Equal(t, "it answered", r.answers(fresh, 1)[0], "echo: while away, where it never spoke")
	said := r.heard(r.place(r.square), 152)
	for i, m := range said[1:151] {
		if want := fmt.Sprint("while away ", i); m.Text != want {
			t.Fatalf("message %d is %q, want %q", i, m.Text, want)
		}
	}
	check.Equal(t, "it read the history of a channel in which nothing was said", len(r.Requests("GET /channels/"+quiet+"/messages")), looked)
}

// People who remove the bot do not want it to read on.
func TestWhatWasSaidWhileTheBotWasNoMemberIsNotRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.Say(r.square, r.ann.ID, "before")
	r.heard(r.place(r.square), 1)
	r.stop()
	r.Say(r.square, r.ann.ID, "while it is no member")
	time.Sleep(2 * time.Millisecond) // a later id than the message's
	r.Rejoin(r.guild.ID)
	time.Sleep(2 * time.Millisecond)
	r.Say(r.square, r.ann.ID, "after it came back")
	r.start()
	check.EqualAll(t, "it heard", textsOf(r.heard(r.place(r.square), 2)), []string{"before", "after it came back"})
}

func TestMessagesDuringTheCatchUpKeepTheirOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.converse("before", 1)
	r.stop()
	for i := range 5 {
		r.Say(r.square, r.ann.ID, fmt.Sprint("missed ", i))
	}
	r.Fail(discordtest.Fault{Route: "GET /channels/" + r.square + "/messages", Delay: 500 * time.Millisecond})
	r.start()
	r.converse("now", 2)
	got := textsOf(r.heard(r.place(r.square), 7))
	check.Equal(t, "it heard", strings.Join(got, ", "), "before, missed 0, missed 1, missed 2, missed 3, missed 4, now")
}

func TestAnOutageOfAServerIsReadUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.converse("before", 1)
	r.Dispatch("GUILD_DELETE", map[string]any{"id": r.guild.ID, "unavailable": true})
	r.Drop(1)
	m := r.ask(r.square, "during the outage")
	r.Dispatch("GUILD_CREATE", map[string]any{
		"id": r.guild.ID, "roles": []any{}, "channels": []any{map[string]any{"id": r.square, "type": 0, "name": "square", "last_message_id": m.ID}},
	})
	check.Equal(t, "it answered", r.answers(r.square, 2)[1], "echo: during the outage")
}

func TestHistoryGivesPages(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{})
	var ids []string
	for i := range 7 {
		ids = append(ids, r.Say(r.square, r.ann.ID, fmt.Sprint(i)).ID)
	}
	r.ask(r.square, "/help") // a command is not part of it
	r.start()
	texts := func(said []channel.Inbound) (all []string) {
		for _, m := range said {
			all = append(all, m.Text)
		}
		return all
	}
	for _, c := range []struct {
		after, before string
		limit         int
		want          string
		last          string
		more          bool
	}{
		{after: ids[0], limit: 3, want: "1 2 3", last: ids[3], more: true},
		{after: ids[3], limit: 10, want: "4 5 6"},
		{before: ids[3], limit: 2, want: "1 2", last: ids[1], more: true},
		{before: ids[2], limit: 5, want: "0 1", last: ids[0]},
	} {
		page, err := r.connector.History(r.ctx, r.place(r.square), channel.Look{After: c.after, Before: c.before, Limit: c.limit})
		if got := strings.Join(texts(page.Said), " "); err != nil || got != c.want || page.More != c.more || c.last != "" && page.Last != c.last {
			t.Errorf("after %q before %q: %q, last %s, more %v, %v; want %+v", c.after, c.before, got, page.Last, page.More, err, c)
		}
	}
}

func TestWhatTheQueueHadNoRoomForIsReadFromHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t, discordtest.Options{}).start()
	r.converse("first", 1)
	begun, gate := make(chan struct{}), make(chan struct{})
	r.connector.queue.Add(r.square, func() { close(begun); <-gate })
	<-begun
	for r.connector.queue.Offer(r.square, func() {}) {
	}
	r.ask(r.square, "no room")
	r.Say(r.square, r.ann.ID, "nor here")
	r.until("the queue to be full", func() bool { _, full := r.connector.overflowed.Load(r.square); return full })
	close(gate)
	check.Equal(t, "it answered", r.answers(r.square, 2)[1], "echo: nor here")
	if said := r.heard(r.place(r.square), 3); said[1].Text != "no room" || !said[1].Addressed || said[2].Addressed {
		t.Errorf("it heard %+v", said)
	}
}

// age makes what is stored an hour older: of what was stored just now a history may say nothing.
func (r *rig) age() {
	r.t.Helper()
	db := check.Must(sql.Open("sqlite3", "file:"+filepath.Join(r.dir, "cairn.db")+"?_busy_timeout=10000"))(r.t)
	defer db.Close()
	check.Must(db.Exec("UPDATE messages SET saved_at = saved_at - 3600000"))(r.t)
}

func TestWhatIsChangedWhileTheBotIsAwayIsReadFromHistory(t *testing.T) {
	t.Parallel()
	for name, speaks := range map[string]bool{"where something is said meanwhile": true, "where nothing is": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, discordtest.Options{}).start()
			r.Say(r.square, r.ann.ID, "first")
			edited, gone := r.Say(r.square, r.ann.ID, "teh plan"), r.Say(r.square, r.ann.ID, "a secret")
			r.ask(r.square, "/help")
			r.Say(r.square, r.ann.ID, "last")
			r.heard(r.place(r.square), 4)
			r.stop()
			r.age()
			r.Edit(r.square, edited.ID, "the plan of <@"+r.ann.ID+">")
			r.Delete(r.square, gone.ID)
			want := []string{"first", "the plan of @ann", "", "last"}
			if speaks {
				r.Say(r.square, r.ann.ID, "meanwhile")
				want = append(want, "meanwhile")
			}
			r.start()
			r.until("what was changed", func() bool {
				return slices.Equal(deleteEmpty(textsOf(r.transcript(r.place(r.square)))), deleteEmpty(slices.Clone(want)))
			})
			check.Equal(t, "how often the model was asked", len(r.model.Requests()), 0)
		})
	}
	t.Run("the only message of a channel", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, discordtest.Options{}).start()
		gone := r.Say(r.square, r.ann.ID, "a secret")
		r.heard(r.place(r.square), 1)
		r.stop()
		r.age()
		r.Delete(r.square, gone.ID)
		r.start()
		r.until("it is deleted", func() bool {
			all := r.transcript(r.place(r.square))
			return len(all) == 0 || len(all) == 1 && all[0].Text == ""
		})
	})
	t.Run("nothing is taken for deleted where the history is hidden", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, discordtest.Options{}).start()
		for _, text := range []string{"one", "two", "three"} {
			r.Say(r.square, r.ann.ID, text)
		}
		r.heard(r.place(r.square), 3)
		r.stop()
		r.age()
		r.Deny(r.square, discordgo.PermissionReadMessageHistory)
		reads := func() int { return len(r.Requests("GET /channels/" + r.square + "/messages")) }
		before := reads()
		r.start()
		r.until("the history is read", func() bool { return reads() > before })
		r.idle(r.place(r.square))
		check.Equal(t, "messages are left", len(r.transcript(r.place(r.square))), 3)
	})
}
