package slack

import (
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/internal/check"
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

// TestAQuestionOfAnyLengthIsAsked: escaped arguments need several sections.
func TestAQuestionOfAnyLengthIsAsked(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, quick(), answerN)
	place := conversation(general)
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"})
	r.answered(general, "answer 1")
	text := "May I? " + strings.Repeat("<", 1000)
	r.send(r.connector.Reply(place, nil), channel.Piece{Reply: "approve-k3f9x.en", Parts: 1, Text: text, Failure: true})
	own := r.own(general)
	check.Equal(t, "what it asked", entities.Replace(strings.ReplaceAll(own[len(own)-1].Shown(), "\n", "")), text)
	r.uncomplaining()
}
