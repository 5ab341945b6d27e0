// What a token without a scope may not do, and what the app then does not hear.
package slacktest_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	"cairn/slack/slacktest"
)

func TestWithoutAScopeACallIsRefused(t *testing.T) {
	o := calm()
	o.Scopes = []string{"chat:write", "channels:read"}
	s := start(t, o)
	ann := s.AddUser("ann")
	general, private := s.AddChannel("general", ann), s.AddPrivateChannel("private", ann)
	api := client(t, s)
	info := func(channel string) error {
		_, err := api.GetConversationInfo(&slack.GetConversationInfoInput{ChannelID: channel})
		return err
	}
	history := func(channel string) error {
		_, err := api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: channel})
		return err
	}
	list := func(types ...string) error {
		_, _, err := api.GetConversations(&slack.GetConversationsParameters{Types: types})
		return err
	}
	user := func() error { _, err := api.GetUserInfo(ann); return err }
	post := func() error {
		_, _, err := api.PostMessage(general, slack.MsgOptionText("x", false))
		return err
	}
	status := func() error {
		asked := s.Say(slacktest.Post{Channel: general, User: ann, Text: "?"})
		return api.SetAssistantThreadsStatus(slack.AssistantThreadsSetStatusParameters{ChannelID: general, ThreadTS: asked, Status: "thinks"})
	}
	for claim, c := range map[string]struct {
		err    error
		needed string
	}{
		"posting with chat:write":                      {post(), ""},
		"a status with chat:write":                     {status(), ""},
		"a public channel with channels:read":          {info(general), ""},
		"a private one without groups:read":            {info(private), "groups:read"},
		"a DM without im:history":                      {history(s.DM(ann)), "im:history"},
		"a list of public channels with channels:read": {list(), ""},
		"a list of more kinds":                         {list("im", "public_channel"), "channels:read,im:read"},
		"a person without users:read":                  {user(), "users:read"},
	} {
		t.Run(claim, func(t *testing.T) {
			if c.needed == "" {
				if c.err != nil {
					t.Errorf("got %v", c.err)
				}
				return
			}
			var refused slack.SlackErrorResponse
			if !errors.As(c.err, &refused) || refused.Err != "missing_scope" || refused.Needed != c.needed || refused.Provided != "chat:write,channels:read" {
				t.Errorf("got %+v, want %s to be needed", refused, c.needed)
			}
		})
	}

	t.Run("each answer names the scopes", func(t *testing.T) {
		who, err := api.AuthTest()
		if err != nil || who.Header.Get("X-OAuth-Scopes") != "chat:write,channels:read" {
			t.Errorf("%v, %v", who, err)
		}
	})
}

func TestWithoutAScopeAnEventDoesNotCome(t *testing.T) {
	o := calm()
	o.Scopes = []string{"channels:history"}
	s := start(t, o)
	ann := s.AddUser("ann")
	general, dm := s.AddChannel("general", ann), s.DM(ann)
	s.Say(slacktest.Post{Channel: dm, User: ann, Text: "unheard"})
	ts := s.Say(slacktest.Post{Channel: general, User: ann, Text: "<@" + slacktest.BotUserID + "> heard once"})
	s.React(general, ts, ann, "eyes")
	if n := len(s.Deliveries()); n != 1 {
		t.Errorf("%d events, want only the message", n)
	}
}

func TestWithoutAScopeAFileIsNotGivenOut(t *testing.T) {
	o := calm()
	o.Scopes = []string{"channels:history"}
	s := start(t, o)
	ann := s.AddUser("ann")
	general := s.AddChannel("general", ann)
	s.Say(slacktest.Post{Channel: general, User: ann, Files: []slacktest.File{{Name: "a.txt", Content: []byte("inside")}}})
	api := client(t, s)
	page, err := api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: general})
	if err != nil {
		t.Fatal(err)
	}
	if err := api.GetFile(page.Messages[0].Files[0].URLPrivateDownload, io.Discard); err == nil || !strings.Contains(err.Error(), "sign-in") {
		t.Errorf("got %v, want the sign-in page", err)
	}
}
