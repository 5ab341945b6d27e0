// What people do, as the app hears of it, and how it answers.
package slacktest_test

import (
	"testing"
	"time"

	"github.com/slack-go/slack"

	"cairn/internal/check"
	"cairn/slack/slacktest"
)

func TestAMentionComesTwice(t *testing.T) {
	s, general, ann := town(t, calm())
	conn := dial(t, s)
	read(t, conn)
	ts := s.Say(slacktest.Post{Channel: general, User: ann, Text: "<@" + slacktest.BotUserID + "> hello"})
	a, b := read(t, conn).Payload, read(t, conn).Payload
	if a.Event.Type != "message" || b.Event.Type != "app_mention" || a.Event.TS != ts || b.Event.TS != ts || a.EventID == b.EventID {
		t.Errorf("%+v\n%+v", a, b)
	}
}

func TestInteractions(t *testing.T) {
	o := calm()
	o.ResponseURLLife = soon
	s, general, ann := town(t, o)
	api := client(t, s)
	respond := func(url string, how slack.MsgOption) error {
		_, _, _, err := api.SendMessage(general, slack.MsgOptionText("rain", false), how)
		return err
	}

	t.Run("a response_url works five times", func(t *testing.T) {
		url := s.Command(general, ann, "/weather", "Oslo")
		for range 5 {
			check.Error(t, respond(url, slack.MsgOptionResponseURL(url, slack.ResponseTypeEphemeral)), nil)
		}
		if err := respond(url, slack.MsgOptionResponseURL(url, slack.ResponseTypeEphemeral)); err == nil || s.Posted()[0].OnlyFor != ann {
			t.Errorf("the sixth: %v", err)
		}
	})

	t.Run("a response_url ends", func(t *testing.T) {
		o := calm()
		o.ResponseURLLife = time.Nanosecond
		s := start(t, o)
		bob := s.AddUser("bob")
		in := s.Command(s.DM(bob), bob, "/weather", "")
		_, _, _, err := client(t, s).SendMessage("", slack.MsgOptionText("rain", false), slack.MsgOptionResponseURL(in, ""))
		if failed, ok := err.(slack.StatusCodeError); !ok || failed.Code != 404 {
			t.Errorf("got %v", err)
		}
	})
}
