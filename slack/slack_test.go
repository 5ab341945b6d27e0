// Who is answered, and where.

package slack

import (
	"testing"
	"time"

	"cairn/slack/slacktest"
)

func TestAnswersWhoAddressesIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick(), answerN)
	ann, bob := r.w.AddUser("ann"), r.w.AddUser("bob")
	general := r.w.AddChannel("general", ann, bob)
	r.begin()

	t.Run("a mention, which comes twice, is one message", func(t *testing.T) {
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"})
		r.answered(general, "answer 1")
		r.stored(conversation(general), "user: hello", "assistant: answer 1")
	})
	t.Run("what is said to others is context", func(t *testing.T) {
		r.w.Say(slacktest.Post{Channel: general, User: bob, Text: "just talking"})
		r.stored(conversation(general), "user: hello", "assistant: answer 1", "user: just talking")
		r.answered(general, "answer 1")
	})
	t.Run("nor is it addressed by what somebody passes on", func(t *testing.T) {
		r.w.Emit(map[string]any{
			"type": "message", "channel": general, "user": bob, "ts": tsOf(time.Now()), "text": "",
			"attachments": []any{map[string]any{"is_share": true, "from_url": "https://slack.test/1", "author_name": "ann", "text": mention + "hello"}},
		})
		r.stored(conversation(general), "user: hello", "assistant: answer 1", "user: just talking", "user: ann: @app hello")
		r.settled(conversation(general))
		r.answered(general, "answer 1")
	})
	t.Run("a direct message needs no mention", func(t *testing.T) {
		r.w.Say(slacktest.Post{Channel: r.w.DM(ann), User: ann, Text: "psst"})
		r.answered(r.w.DM(ann), "answer 2")
	})
	t.Run("names are those that people have", func(t *testing.T) {
		messages := r.messages(conversation(general))
		if messages[0].Author != "ann" || messages[2].Author != "bob" || messages[0].AuthorID != ann {
			t.Errorf("%+v", messages)
		}
	})
	r.uncomplaining()
}

func TestAThreadIsAConversation(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick(), answerN)
	ann := r.w.AddUser("ann")
	general := r.w.AddChannel("general", ann)
	r.begin()
	root := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "the plan is blue"})
	r.stored(conversation(general), "user: the plan is blue")

	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: mention + "what do you think?"})
	r.answered(general, "answer 1")
	thread := conversation(general, root)
	r.stored(thread, "user: what do you think?", "assistant: answer 1")
	if m := r.messages(thread)[0]; m.Quote != `ann: "the plan is blue"` {
		t.Errorf("the message it hangs on is quoted as %q", m.Quote)
	}
	r.w.Say(slacktest.Post{Channel: general, User: ann, Thread: root, Text: "and now without a mention"})
	r.answered(general, "answer 1", "answer 2")
	for _, m := range r.w.Posted() {
		if m.Thread != root {
			t.Errorf("%q was not said in the thread", m.Text)
		}
	}
	r.stored(conversation(general), "user: the plan is blue")
	r.uncomplaining()
}
