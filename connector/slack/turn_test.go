// What other processes have received, and this one must know.

package slack

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/connector/platform"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
	"cairn/testkit/storetest"
)

// What Slack sent to a process that has failed, and not again, is read from history a while after another one took over.
func TestTakeOverReadsWhatIsMissing(t *testing.T) {
	r, general, ann := town(t, unhelpful(), answerN)
	var other *store.Lease
	r.Lease = func(s *store.Store) *store.Lease {
		on := []store.Account{{Connector: Name}}
		other = check.Must(s.Processes().Join(t.Context(), store.Process{Name: "host:1", Connectors: on}, time.Hour))(t)
		return check.Must(s.Processes().Join(t.Context(), store.Process{Name: "host:2", Connectors: on}, time.Hour))(t)
	}
	r.tune = func(s *Slack) { s.times.takeOver = 2 * time.Second }
	r.begin()
	r.eventually("it stands by", func() bool { return strings.Contains(r.Log.String(), "standing_by") })
	r.connector.Reply(conversation(general), nil)
	check.That(t, r.connector.first.Load() == nil, "a notice of a process that stands by counts as its first reply")
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "before"})
	r.eventually("what came is kept", r.acknowledged)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "question 1", Untold: true})
	check.NoError(t, other.End(t.Context()))
	r.eventually("it takes over", func() bool { return strings.Contains(r.Log.String(), "taking_over") })
	check.Len(t, "answers before", r.botTexts(general), 0)
	r.awaitAnswers(general, 1)
	check.That(t, r.connector.first.Load() != nil, "it has no first reply")
}

// forget has the bot know as little of a message as a process that did not receive it.
func (r *rig) forget() {
	recent := r.connector.recent
	for _, cache := range []*platform.Cache{&recent.firsts, &recent.threads, &recent.authors} {
		for n := range 10_001 {
			cache.Set(fmt.Sprint("another message ", n), "")
		}
	}
}

func TestDeletionInAThreadThatAnotherProcessReceived(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "root"})
	secret := r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: "a secret"})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: "no secret"})
	r.stored(conversation(general, root), "user: a secret", "user: no secret")
	r.forget()
	r.w.Emit(map[string]any{"type": "message", "subtype": "message_deleted", "channel": general, "ts": tsOf(time.Now()), "deleted_ts": secret})
	r.stored(conversation(general, root), "user: no secret")
	r.stored(conversation(general), "user: root")
}

// The first reply under a message of the bot is to it. Later ones are not, because people may have told it to stop.
func TestFirstReplyThatAnotherProcessReceived(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{}, answerN)
	r.ask(general, ann, 1)
	thread := r.botMessages(general)[0].TS
	say := func(text string) { r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: thread, Text: text}) }
	say("really?")
	r.stored(conversation(general, thread), "user: really?", "assistant: answer 2")
	say(mention + "/stop")
	r.eventually("the answer to the command", func() bool { return len(r.botMessages(general)) == 3 })
	r.forget()
	say("we talk among ourselves")
	r.eventually("it is received", r.acknowledged)
	r.Idle(conversation(general, thread))
	r.stored(conversation(general, thread), "user: really?", "assistant: answer 2", "user: we talk among ourselves")
	check.Equal(t, "messages of the bot", len(r.botMessages(general)), 3)
}

// An event that ends a refusal may come to another process.
func TestRefusalsBesideOtherProcesses(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	for n, want := range []time.Duration{refusedFor, refusedForBeside} {
		lease := check.Must(s.Processes().Join(t.Context(), store.Process{Name: fmt.Sprint("host:", n)}, time.Hour))(t)
		hub := channel.New(channel.Options{Store: s, Lease: lease, Log: slog.New(slog.DiscardHandler)})
		base := platform.NewBase(Name, slog.New(slog.DiscardHandler))
		base.Hub = hub
		base.Work.Open(t.Context())
		p := &poster{base: base}
		check.Equal(t, fmt.Sprintf("how long a refusal counts with %d processes", n+1), p.refusedFor(), want)
		defer hub.Close()
	}
}
