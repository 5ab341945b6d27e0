// What people edit and delete while the bot is away.

package slack

import (
	"testing"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/slack/slacktest"
)

// age makes what is stored an hour older: of what was stored just now a history may say nothing.
func (r *rig) age() {
	r.t.Helper()
	r.disk()("UPDATE messages SET saved_at = saved_at - 3600000")
}

func TestWhatIsChangedWhileTheBotIsAwayIsReadFromHistory(t *testing.T) {
	t.Parallel()
	for claim, inThread := range map[string]bool{"in a channel": false, "in a thread": true} {
		t.Run(claim, func(t *testing.T) {
			r, general, ann := town(t, unhelpful(), ok)
			name, thread := conversation(general), ""
			if inThread {
				thread = r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "root"})
				name = conversation(general, thread)
			}
			r.begin()
			say := func(text string) string {
				return r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: thread, Text: text})
			}
			say("first")
			edited, gone := say("teh plan"), say("a secret")
			say("/help")
			say("fourth")
			last := say("last")
			r.stored(name, "user: first", "user: teh plan", "user: a secret", "user: /help", "user: fourth", "user: last")
			r.end()
			r.age()
			r.w.Edit(general, edited, "the plan of <@"+ann+">")
			r.w.Delete(general, gone)
			r.w.Delete(general, last)
			r.begin()
			r.stored(name, "user: first", "user: the plan of @ann", "user: /help", "user: fourth")
			check.Equal(t, "how often the model was asked", len(r.model.Requests()), 0)
		})
	}
	t.Run("the only message of a channel", func(t *testing.T) {
		r, general, ann := connectedRig(t, unhelpful(), ok)
		gone := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "a secret"})
		r.stored(conversation(general), "user: a secret")
		r.end()
		r.age()
		r.w.Delete(general, gone)
		r.begin()
		r.stored(conversation(general))
	})
	t.Run("a message that a thread hangs on", func(t *testing.T) {
		r, general, ann := connectedRig(t, unhelpful(), ok)
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "first"})
		root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "root"})
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "last"})
		r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: "reply"})
		r.stored(conversation(general), "user: first", "user: root", "user: last")
		r.stored(conversation(general, root), "user: reply")
		r.end()
		r.age()
		r.w.Delete(general, root)
		r.begin()
		r.stored(conversation(general), "user: first", "user: last")
		r.stored(conversation(general, root), "user: reply")
	})
}

func TestAPageThatCannotBeReadWholeDeletesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, unhelpful(), ok)
	odd := ""
	r.histories(func(message map[string]any) {
		if message["ts"] == odd {
			message["ts"] = map[string]any{"not": "a ts"}
		}
	})
	general, ann := r.place()
	r.begin()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "first"})
	strange := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "strange"})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "last"})
	r.stored(conversation(general), "user: first", "user: strange", "user: last")
	r.end()
	r.age()
	odd = strange
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "meanwhile"})
	r.begin()
	r.stored(conversation(general), "user: first", "user: strange", "user: last", "user: meanwhile")
	page, err := r.connector.History(t.Context(), conversation(general), channel.Look{After: "1.000000", Limit: 10})
	if err != nil || page.There != nil || len(page.Said) != 3 {
		t.Errorf("the page says %q of %d messages, %v", page.There, len(page.Said), err)
	}
}
