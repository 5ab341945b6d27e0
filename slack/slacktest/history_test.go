// Reading what was said, page by page.
package slacktest_test

import (
	"fmt"
	"testing"

	"github.com/slack-go/slack"

	"cairn/slack/slacktest"
)

func TestHistoryHasPages(t *testing.T) {
	s := start(t, calm())
	ann := s.AddUser("ann")
	general := s.AddChannel("general", ann)
	said := s.Burst(250, slacktest.Post{Channel: general, User: ann, Text: "message"})
	for i := range 3 {
		s.Say(slacktest.Post{Channel: general, User: ann, Text: fmt.Sprint("reply ", i), Thread: said[0]})
	}
	api := client(t, s)

	t.Run("from the newest to the oldest, without replies", func(t *testing.T) {
		var got []string
		p := slack.GetConversationHistoryParameters{ChannelID: general}
		for {
			page, err := api.GetConversationHistory(&p)
			if err != nil {
				t.Fatal(err)
			}
			if page.HasMore != (page.ResponseMetaData.NextCursor != "") {
				t.Errorf("has_more is %v with the cursor %q", page.HasMore, page.ResponseMetaData.NextCursor)
			}
			for _, m := range page.Messages {
				got = append(got, m.Timestamp)
			}
			if p.Cursor = page.ResponseMetaData.NextCursor; p.Cursor == "" {
				break
			}
		}
		if len(got) != 250 || got[0] != said[249] || got[249] != said[0] {
			t.Errorf("%d messages", len(got))
		}
		if n := len(s.Calls("conversations.history")); n != 3 {
			t.Errorf("%d pages", n)
		}
	})

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

	t.Run("what is no timestamp is refused", func(t *testing.T) {
		_, err := api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: general, Oldest: "yesterday"})
		if code(err) != "invalid_ts_oldest" {
			t.Errorf("got %v", err)
		}
	})

	t.Run("metadata is shown to who asks for it", func(t *testing.T) {
		other := s.AddChannel("other", ann)
		if _, _, err := api.PostMessage(other, slack.MsgOptionText("x", false), slack.MsgOptionMetadata(slack.SlackMetadata{EventType: "sent", EventPayload: map[string]any{"id": "7"}})); err != nil {
			t.Fatal(err)
		}
		for asked, want := range map[bool]string{true: "sent", false: ""} {
			page, err := api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: other, IncludeAllMetadata: asked})
			if err != nil || len(page.Messages) != 1 || page.Messages[0].Metadata.EventType != want {
				t.Errorf("asked %v: %+v, %v", asked, page, err)
			}
		}
	})

	t.Run("a thread has its parent first", func(t *testing.T) {
		found, _, _, err := api.GetConversationReplies(&slack.GetConversationRepliesParameters{ChannelID: general, Timestamp: said[0]})
		if err != nil || len(found) != 4 || found[0].Timestamp != said[0] || found[0].ReplyCount != 3 || found[3].Text != "reply 2" {
			t.Errorf("%+v, %v", found, err)
		}
	})

	t.Run("a thread comes in pages too", func(t *testing.T) {
		page, more, next, err := api.GetConversationReplies(&slack.GetConversationRepliesParameters{ChannelID: general, Timestamp: said[0], Limit: 3})
		if err != nil || len(page) != 3 || !more || next == "" {
			t.Fatalf("%+v, %v, %q, %v", page, more, next, err)
		}
		page, more, _, err = api.GetConversationReplies(&slack.GetConversationRepliesParameters{ChannelID: general, Timestamp: said[0], Limit: 3, Cursor: next})
		if err != nil || len(page) != 1 || more || page[0].Text != "reply 2" {
			t.Errorf("%+v, %v, %v", page, more, err)
		}
	})

	t.Run("a limit beyond 999 is refused", func(t *testing.T) {
		_, err := api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: general, Limit: 1000})
		if code(err) != "invalid_limit" {
			t.Errorf("got %v", err)
		}
	})
}
