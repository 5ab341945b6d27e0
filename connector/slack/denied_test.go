package slack

import (
	"testing"

	"cairn/channel/access"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func TestADeniedPersonIsToldOnceADay(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	bob := r.w.AddUser("bob")
	r.w.Join(general, bob)
	r.Rules.Access = map[string]access.Access{Name: {Deny: []string{ann}}}
	r.begin()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: "hello, all"})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "are you there?"})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "are you there now?"})
	r.eventually("the person is told", func() bool { return len(r.botMessages(general, ann)) > 0 })
	r.ask(general, bob, 1)
	told := r.botMessages(general, ann)
	check.Len(t, "what ann was told", told, 1)
	check.HasPrefix(t, "ann was told", told[0].Text, "I am not set up to talk with you here.")
}
