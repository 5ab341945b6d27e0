// What people edit and delete while the bot is away.

package slack

import (
	"testing"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/slack/slacktest"
)

func TestWhatIsChangedWhileTheBotIsAwayIsReadFromHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t, unhelpful(), ok)
	odd := ""
	r.histories(func(message map[string]any) {
		if message["ts"] == odd {
			message["ts"] = map[string]any{"not": "a ts"}
		}
	})
	general, ann := r.place()
	lonely, strange := r.w.AddChannel("lonely", ann), r.w.AddChannel("strange", ann)
	r.begin()
	say := func(channelID, thread, text string) string {
		return r.w.Say(slacktest.Post{Channel: channelID, User: ann, Thread: thread, Text: text})
	}
	say(general, "", "first")
	root, unread := say(general, "", "root"), say(strange, "", "a page that cannot be read whole deletes nothing")
	only := say(lonely, "", "the only message of a channel")
	var edited, gone, last []string
	for _, thread := range []string{"", root} {
		edited, gone = append(edited, say(general, thread, "teh plan")), append(gone, say(general, thread, "a secret"))
		say(general, thread, "/help")
		say(general, thread, "fourth")
		last = append(last, say(general, thread, "last"))
	}
	inThread := []string{"user: teh plan", "user: a secret", "user: /help", "user: fourth", "user: last"}
	r.stored(conversation(general), append([]string{"user: first", "user: root"}, inThread...)...)
	r.stored(conversation(general, root), inThread...)
	r.stored(conversation(lonely), "user: the only message of a channel")
	r.stored(conversation(strange), "user: a page that cannot be read whole deletes nothing")
	r.end()
	r.Age()
	odd = unread
	say(strange, "", "meanwhile")
	for i := range edited {
		r.w.Edit(general, edited[i], "the plan of <@"+ann+">")
		r.w.Delete(general, gone[i])
		r.w.Delete(general, last[i])
	}
	r.w.Delete(general, root) // which a thread hangs on
	r.w.Delete(lonely, only)
	r.begin()
	r.stored(conversation(general), "user: first", "user: the plan of @ann", "user: /help", "user: fourth")
	r.stored(conversation(general, root), "user: the plan of @ann", "user: /help", "user: fourth")
	r.stored(conversation(lonely))
	r.stored(conversation(strange), "user: a page that cannot be read whole deletes nothing", "user: meanwhile")
	page, err := r.connector.History(t.Context(), conversation(strange), channel.Look{After: "1.000000", Limit: 10})
	check.That(t, err == nil && page.There == nil && len(page.Said) == 1, "the page says %q of %d messages, %v", page.There, len(page.Said), err)
	check.Equal(t, "how often the model was asked", len(r.Model.Requests()), 0)
}
