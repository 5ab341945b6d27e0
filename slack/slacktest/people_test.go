// What people do, as the app hears of it, and how it answers.
package slacktest_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"

	"cairn/internal/check"
	"cairn/slack/slacktest"
)

func TestWhatPeopleDo(t *testing.T) {
	s := start(t, calm())
	ann, robot := s.AddUser("ann"), s.AddBot("robot")
	general, dm := s.AddChannel("general", ann, robot), s.DM(ann)
	conn := dial(t, s)
	read(t, conn)
	mention := "<@" + slacktest.BotUserID + "> hello"

	t.Run("a mention comes as message and as app_mention, with one ts and two event ids", func(t *testing.T) {
		ts := s.Say(slacktest.Post{Channel: general, User: ann, Text: mention})
		a, b := read(t, conn), read(t, conn)
		if a.Payload.Event.Type != "message" || b.Payload.Event.Type != "app_mention" || a.Payload.Event.TS != ts || b.Payload.Event.TS != ts || a.Payload.EventID == b.Payload.EventID {
			t.Errorf("%+v\n%+v", a, b)
		}
	})

	t.Run("a mention in direct messages comes once", func(t *testing.T) {
		s.Say(slacktest.Post{Channel: dm, User: ann, Text: mention})
		s.Say(slacktest.Post{Channel: dm, User: ann, Text: "and"})
		if a, b := read(t, conn), read(t, conn); a.Payload.Event.Text != mention || b.Payload.Event.Text != "and" || dm[0] != 'D' {
			t.Errorf("%+v\n%+v", a, b)
		}
	})

	t.Run("edits and deletions have an inner message, as slack-go reads it", func(t *testing.T) {
		ts := s.Say(slacktest.Post{Channel: general, User: robot, Text: "one"})
		s.Edit(general, ts, "two")
		s.Delete(general, ts)
		var events []*slackevents.MessageEvent
		for _, d := range s.Deliveries()[len(s.Deliveries())-3:] {
			e := check.Must(slackevents.ParseEvent(d.Payload, slackevents.OptionNoVerifyToken()))(t)
			events = append(events, e.InnerEvent.Data.(*slackevents.MessageEvent))
			read(t, conn)
		}
		said, edited, deleted := events[0], events[1], events[2]
		if said.BotID == "" || said.Text != "one" {
			t.Errorf("said: %+v", said)
		}
		if edited.SubType != "message_changed" || edited.Message.Text != "two" || edited.PreviousMessage.Text != "one" || edited.Message.Timestamp != ts || edited.Text != "" {
			t.Errorf("edited: %+v", edited)
		}
		check.Equal(t, "the subtype", deleted.SubType, "message_deleted")
		check.Equal(t, "the deleted ts", deleted.DeletedTimeStamp, ts)
	})

	t.Run("a parent with answers stays as a tombstone", func(t *testing.T) {
		ts := s.Say(slacktest.Post{Channel: general, User: ann, Text: "parent"})
		s.Say(slacktest.Post{Channel: general, User: ann, Text: "reply", Thread: ts})
		s.Delete(general, ts)
		read(t, conn)
		read(t, conn)
		if e := read(t, conn); e.Payload.Event.Subtype != "message_changed" || len(s.Messages(general)) < 2 {
			t.Errorf("%+v", e)
		}
	})

	t.Run("nothing is heard of a channel without the app", func(t *testing.T) {
		before := len(s.Deliveries())
		s.Leave(general, slacktest.BotUserID)
		s.Say(slacktest.Post{Channel: general, User: ann, Text: mention})
		check.Equal(t, "deliveries", len(s.Deliveries())-before, 1)
	})
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

	t.Run("a button gives its value, and the message can be replaced", func(t *testing.T) {
		button := slack.NewButtonBlockElement("next", "page 2", slack.NewTextBlockObject("plain_text", "Next", false, false))
		_, ts, err := api.PostMessage(general, slack.MsgOptionText("page 1", false), slack.MsgOptionBlocks(slack.NewActionBlock("pager", button)))
		check.NoError(t, err)
		in := s.Press(general, ts, ann, "next")
		all := s.Deliveries()
		var click slack.InteractionCallback
		check.NoError(t, json.Unmarshal(all[len(all)-1].Payload, &click))
		if a := click.ActionCallback.BlockActions; len(a) != 1 || a[0].Value != "page 2" || click.Message.Timestamp != ts || click.User.ID != ann {
			t.Fatalf("%+v", click)
		}
		check.NoError(t, respond(in, slack.MsgOptionReplaceOriginal(in)))
		i := slices.IndexFunc(s.Posted(), func(m slacktest.Message) bool { return m.TS == ts })
		if m := s.Posted()[i]; m.Text != "rain" || m.Edits != 1 {
			t.Errorf("%+v", m)
		}
	})
}
