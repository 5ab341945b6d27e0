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

// Slack repeats a message that nobody acknowledged, also after it was deleted and another process learned of that.
func TestADeletedMessageThatSlackRepeatsAfterARestartStaysDeleted(t *testing.T) {
	r, general, ann := town(t, unhelpful(), answerN)
	r.begin()
	r.ask(general, ann, 1)
	gone := r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "question 2", Untold: true})
	r.w.Delete(general, gone)
	r.eventually("the deletion is acknowledged", r.acknowledged)
	r.end()
	r.begin()
	r.w.Emit(map[string]any{"type": "message", "channel": general, "channel_type": "channel", "user": ann, "ts": gone, "text": mention + "question 2"})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "question 3"})
	r.stored(conversation(general), "user: question 1", "assistant: answer 1", "user: question 3", "assistant: answer 2")
	r.answered(general, "answer 1", "answer 2")
}
