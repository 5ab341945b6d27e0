package slack

import (
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/slack/slacktest"
)

func TestAToolIsAllowedByAButton(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick(), channeltest.Add)
	box := &channeltest.Box{Approve: channel.ApproveAlways}
	r.tools = box
	ann, boss := r.w.AddUser("ann"), r.w.AddUser("boss")
	general := r.w.AddChannel("general", ann, boss)
	r.rules.Access = map[string]channel.Access{"slack": {Owners: []string{boss}}}
	r.begin()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "please add"})
	var question slacktest.Message
	r.eventually("the question", func() bool {
		for _, m := range r.own(general) {
			if strings.Contains(m.Shown(), "May I call calc_add") {
				question = m
				return true
			}
		}
		return false
	})
	r.w.Press(general, question.TS, ann, actionPrefix+"allow")
	r.eventually("a stranger is told", func() bool {
		told := r.private(general, ann)
		return len(told) == 1 && strings.Contains(told[0].Shown(), "people who manage this place")
	})
	if len(box.Called()) > 0 || !strings.Contains(r.own(general)[0].Shown(), "May I call") {
		t.Fatalf("a stranger allows a call: %q", r.own(general)[0].Shown())
	}
	r.w.Press(general, question.TS, boss, actionPrefix+"allow")
	r.eventually("the answer", func() bool {
		own := r.own(general)
		return strings.Contains(own[len(own)-1].Shown(), "The tool says: five") && strings.Contains(own[0].Shown(), "boss allowed the call of calc_add")
	})
	r.uncomplaining()
}
