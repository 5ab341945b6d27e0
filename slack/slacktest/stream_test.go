// Streamed answers, histories, and HTTP requests that fail on demand.
package slacktest_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	"cairn/internal/check"
	"cairn/slack/slacktest"
)

func TestStreams(t *testing.T) {
	s := start(t, calm())
	ann := s.AddUser("ann")
	general, dm := s.AddChannel("general", ann), s.DM(ann)
	asked := s.Say(slacktest.Post{Channel: general, User: ann, Text: "explain"})
	api := client(t, s)
	recipient := slack.MsgOptionCompose(slack.MsgOptionRecipientTeamID(slacktest.TeamID), slack.MsgOptionRecipientUserID(ann))
	text := slack.MsgOptionMarkdownText

	t.Run("a channel wants the recipient, a DM does not", func(t *testing.T) {
		check.Equal(t, "channel", code(error3(api.StartStream(general, slack.MsgOptionTS(asked)))), "missing_recipient_user_id")
		question := s.Say(slacktest.Post{Channel: dm, User: ann, Text: "explain"})
		check.Equal(t, "DM", code(error3(api.StartStream(dm, slack.MsgOptionTS(question)))), "")
	})

	check.Equal(t, "a stream that answers no message", code(error3(api.StartStream(general, recipient))), "invalid_arguments")

	t.Run("what is appended stands in the message, until it is stopped", func(t *testing.T) {
		if err := api.SetAssistantThreadsStatus(slack.AssistantThreadsSetStatusParameters{ChannelID: general, ThreadTS: asked, Status: "thinks"}); err != nil || s.Status(general, asked) != "thinks" {
			t.Errorf("status %q, %v", s.Status(general, asked), err)
		}
		_, ts, err := api.StartStream(general, recipient, slack.MsgOptionTS(asked), text("one "))
		if err != nil || s.Status(general, asked) != "" {
			t.Fatalf("status %q, %v", s.Status(general, asked), err)
		}
		check.NoError(t, error3(api.AppendStream(general, ts, text("two "))))
		check.Equal(t, "an edit meanwhile", code(error4(api.UpdateMessage(general, ts, slack.MsgOptionText("x", false)))), "streaming_state_conflict")
		check.Equal(t, "too much", code(error3(api.AppendStream(general, ts, text(strings.Repeat("x", 12_000))))), "msg_too_long")
		check.NoError(t, error3(api.StopStream(general, ts, text("three"))))
		check.Equal(t, "afterwards", code(error3(api.AppendStream(general, ts, text("four")))), "message_not_in_streaming_state")
		for _, m := range s.Posted() {
			check.That(t, m.TS != ts || m.Shown() == "one two three" && m.Thread == asked && !m.Streaming, "%+v", m)
		}
	})
}

func TestStreamsEnd(t *testing.T) {
	s, general, ann := town(t, calm())
	asked := s.Say(slacktest.Post{Channel: general, User: ann, Text: "explain"})
	api := client(t, s)
	recipient := slack.MsgOptionCompose(slack.MsgOptionRecipientTeamID(slacktest.TeamID), slack.MsgOptionRecipientUserID(ann))
	text := slack.MsgOptionMarkdownText

	t.Run("while it is open it cannot be deleted, and Slack can end it", func(t *testing.T) {
		_, ts, err := api.StartStream(general, recipient, slack.MsgOptionTS(asked), text("one"))
		check.NoError(t, err)
		check.Equal(t, "deleted while open", code(error3(api.DeleteMessage(general, ts))), "cant_delete_message")
		s.EndStream(general, ts)
		check.Equal(t, "appended after the end", code(error3(api.AppendStream(general, ts, text("two")))), "message_not_in_streaming_state")
		check.Equal(t, "deleted after the end", code(error3(api.DeleteMessage(general, ts))), "")
	})

	t.Run("a person can stop it", func(t *testing.T) {
		_, ts, err := api.StartStream(general, recipient, slack.MsgOptionTS(asked))
		check.NoError(t, err)
		s.StopStream(general, ts)
		check.Equal(t, "the refusal", code(error3(api.AppendStream(general, ts, text("more")))), "stopped_by_user")
	})
}

func TestFaults(t *testing.T) {
	s := start(t, calm())
	general := s.AddChannel("general")
	api := client(t, s)
	post := func() error { _, _, err := api.PostMessage(general, slack.MsgOptionText("x", false)); return err }

	t.Run("a cut answer can take effect or not", func(t *testing.T) {
		s.Fail(slacktest.Fault{Cut: true})
		if err := post(); err == nil || len(s.Posted()) != 0 {
			t.Errorf("%v, %d messages", err, len(s.Posted()))
		}
		s.Fail(slacktest.Fault{Cut: true, Body: `{"ok":tr`, TakesEffect: true})
		check.Error(t, post(), io.ErrUnexpectedEOF)
		check.Equal(t, "messages", len(s.Posted()), 1)
	})

	t.Run("a fault skips, counts and ends", func(t *testing.T) {
		s.Fail(slacktest.Fault{Method: "chat.postMessage", Error: "fatal_error", Skip: 1, Times: 2})
		var got []string
		for range 4 {
			got = append(got, code(post()))
		}
		check.Equal(t, "the errors", fmt.Sprint(got), "[ fatal_error fatal_error ]")
		s.Fail(slacktest.Fault{Status: 500, Times: -1})
		s.Heal()
		if err := post(); err != nil {
			t.Errorf("healed: %v", err)
		}
	})
}

func TestHistoryHasPages(t *testing.T) {
	s, general, ann := town(t, calm())
	said := s.Burst(250, slacktest.Post{Channel: general, User: ann, Text: "message"})
	s.Say(slacktest.Post{Channel: general, User: ann, Text: "reply", Thread: said[0]})
	api := client(t, s)

	t.Run("between two timestamps, with them only if inclusive", func(t *testing.T) {
		for inclusive, want := range map[bool]int{false: 2, true: 4} {
			page, err := api.GetConversationHistory(&slack.GetConversationHistoryParameters{
				ChannelID: general, Oldest: said[10], Latest: said[13], Inclusive: inclusive,
			})
			if err != nil || len(page.Messages) != want || page.HasMore {
				t.Errorf("inclusive %v: %v, %v", inclusive, page, err)
			}
		}
	})

	t.Run("of those after a timestamp the newest come first", func(t *testing.T) {
		page, err := api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: general, Oldest: said[10], Limit: 1})
		if err != nil || len(page.Messages) != 1 || page.Messages[0].Timestamp != said[249] || !page.HasMore {
			t.Errorf("%v, %v", page, err)
		}
	})

	for refusal, p := range map[string]slack.GetConversationHistoryParameters{
		"invalid_ts_oldest": {Oldest: "yesterday"},
		"invalid_limit":     {Limit: 1000},
	} {
		p.ChannelID = general
		_, err := api.GetConversationHistory(&p)
		check.Equal(t, "the refusal", code(err), refusal)
	}
}
