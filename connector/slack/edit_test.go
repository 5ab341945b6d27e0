package slack

import (
	"testing"

	"cairn/testkit/slacktest"
)

func TestAnEditThatAddsTheMentionIsAnsweredOnce(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	r.begin()
	m := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "what is it?"})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "who knows?"})
	name := conversation(general)
	r.stored(name, "user: what is it?", "user: who knows?")
	r.w.Edit(general, m, mention+"what is it?")
	r.stored(name, "user: who knows?", "user: what is it?", "assistant: answer 1")
	r.w.Edit(general, m, mention+"what was it?") // a typo
	r.stored(name, "user: who knows?", "user: what was it?", "assistant: answer 1")
	r.w.Unfurl(general, m)
	r.end()
	r.begin()
	r.w.Edit(general, m, mention+"what is it then?")
	r.stored(name, "user: who knows?", "user: what is it then?", "assistant: answer 1")
	r.answered(general, "answer 1")
}
