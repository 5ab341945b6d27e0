package slack

import (
	"strings"
	"testing"
	"time"

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

// TestAnUrgentCommandWaitsForNoOther: a turn waits for the button, and the answer to a command takes long.
func TestAnUrgentCommandWaitsForNoOther(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, quick(), channeltest.Add)
	r.tools = &channeltest.Box{Approve: channel.ApproveAlways}
	r.w.Admin(ann)
	r.begin()
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "please add"})
	r.eventually("the question", func() bool { return len(r.own(general)) > 0 })
	r.w.Fail(slacktest.Fault{Method: "response_url", Delay: time.Hour})
	r.w.Command(general, ann, "/cairn", "help")
	r.eventually("it is answered, slowly", func() bool { return r.w.Seen("response_url") > 0 })
	pressed := time.Now()
	r.w.Press(general, r.own(general)[0].TS, ann, actionPrefix+"allow")
	r.eventually("the answer", func() bool {
		own := r.own(general)
		return strings.Contains(own[len(own)-1].Shown(), "The tool says: five")
	})
	if took := time.Since(pressed); took > callTimeout/2 {
		t.Errorf("the press took %v", took)
	}
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
