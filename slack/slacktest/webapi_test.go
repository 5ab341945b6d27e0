// How strict the workspace is in what it accepts over HTTP.
package slacktest_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	"cairn/slack/slacktest"
)

func TestPostingIsAsStrictAsSlack(t *testing.T) {
	s, general, ann := town(t, calm())
	elsewhere := s.AddChannel("elsewhere", ann)
	s.Leave(elsewhere, slacktest.BotUserID)
	parent := s.Say(slacktest.Post{Channel: general, User: ann, Text: "a question"})
	api := client(t, s)
	section := func(n int) slack.Block {
		return slack.NewSectionBlock(slack.NewTextBlockObject("mrkdwn", strings.Repeat("x", n), false, false), nil, nil)
	}
	text := func(n int) slack.MsgOption { return slack.MsgOptionText(strings.Repeat("é", n), false) }
	for claim, c := range map[string]struct {
		channel string
		options []slack.MsgOption
		refusal string
	}{
		"a text is taken":                             {general, []slack.MsgOption{text(4000)}, ""},
		"a reply is taken":                            {general, []slack.MsgOption{text(1), slack.MsgOptionTS(parent)}, ""},
		"an unknown channel is refused":               {"C9", []slack.MsgOption{text(1)}, "channel_not_found"},
		"a channel without the app is refused":        {elsewhere, []slack.MsgOption{text(1)}, "not_in_channel"},
		"an unknown thread is refused":                {general, []slack.MsgOption{text(1), slack.MsgOptionTS("1.000000")}, "thread_not_found"},
		"nothing to say is refused":                   {general, []slack.MsgOption{slack.MsgOptionText(" ", false)}, "no_text"},
		"12 000 of markdown_text are taken":           {general, []slack.MsgOption{slack.MsgOptionMarkdownText(strings.Repeat("é", 12_000))}, ""},
		"12 001 of markdown_text are refused":         {general, []slack.MsgOption{slack.MsgOptionMarkdownText(strings.Repeat("é", 12_001))}, "msg_too_long"},
		"markdown_text beside a text is refused":      {general, []slack.MsgOption{text(1), slack.MsgOptionMarkdownText("a")}, "markdown_text_conflict"},
		"a section of 3 000 is taken":                 {general, []slack.MsgOption{slack.MsgOptionBlocks(section(3000))}, ""},
		"a section of 3 001 is refused":               {general, []slack.MsgOption{slack.MsgOptionBlocks(section(3001))}, "invalid_blocks"},
		"an empty section is refused":                 {general, []slack.MsgOption{slack.MsgOptionBlocks(section(0))}, "invalid_blocks"},
		"50 blocks are taken":                         {general, []slack.MsgOption{slack.MsgOptionBlocks(repeat(section(1), 50)...)}, ""},
		"51 blocks are refused":                       {general, []slack.MsgOption{slack.MsgOptionBlocks(repeat(section(1), 51)...)}, "invalid_blocks"},
		"metadata with type and payload are taken":    {general, []slack.MsgOption{text(1), slack.MsgOptionMetadata(slack.SlackMetadata{EventType: "a", EventPayload: map[string]any{"k": 1}})}, ""},
		"metadata without an event_type are refused":  {general, []slack.MsgOption{text(1), slack.MsgOptionMetadata(slack.SlackMetadata{EventPayload: map[string]any{"k": 1}})}, "invalid_metadata_schema"},
		"an edit of what the app did not say":         {general, []slack.MsgOption{text(1), slack.MsgOptionUpdate(parent)}, "cant_update_message"},
		"an edit of what nobody said":                 {general, []slack.MsgOption{text(1), slack.MsgOptionUpdate("1.000000")}, "message_not_found"},
		"a deletion of what the app did not say":      {general, []slack.MsgOption{slack.MsgOptionDelete(parent)}, "cant_delete_message"},
		"an ephemeral message for somebody elsewhere": {general, []slack.MsgOption{text(1), slack.MsgOptionPostEphemeral("U9")}, "user_not_in_channel"},
	} {
		t.Run(claim, func(t *testing.T) {
			if _, _, _, err := api.SendMessage(c.channel, c.options...); code(err) != c.refusal {
				t.Errorf("got %q, want %q", code(err), c.refusal)
			}
		})
	}
	for _, complaint := range s.Complaints() {
		t.Errorf("complaint: %s", complaint)
	}
}

func repeat(b slack.Block, n int) []slack.Block {
	all := make([]slack.Block, n)
	for i := range all {
		all[i] = b
	}
	return all
}

func TestMessagesAreKept(t *testing.T) {
	s, general, ann := town(t, calm())
	api := client(t, s)
	meta := slack.SlackMetadata{EventType: "sent", EventPayload: map[string]any{"id": "7"}}

	t.Run("an edit replaces the text and leaves the metadata", func(t *testing.T) {
		_, ts, err := api.PostMessage(general, slack.MsgOptionText("one", false), slack.MsgOptionMetadata(meta))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := api.UpdateMessage(general, ts, slack.MsgOptionText("two", false)); err != nil {
			t.Fatal(err)
		}
		page, err := api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: general, IncludeAllMetadata: true})
		if err != nil || len(page.Messages) != 1 {
			t.Fatalf("%v, %v", page, err)
		}
		if m := page.Messages[0]; m.Text != "two" || m.Metadata.EventPayload["id"] != "7" || m.BotID != slacktest.BotID || m.Edited == nil {
			t.Errorf("%+v", m.Msg)
		}
	})

	t.Run("an edit beyond 4 000 is refused", func(t *testing.T) {
		_, _, _, err := api.UpdateMessage(general, s.Posted()[0].TS, slack.MsgOptionText(strings.Repeat("x", 4001), false))
		if code(err) != "msg_too_long" {
			t.Errorf("got %v", err)
		}
	})

	t.Run("a deleted message is in no history", func(t *testing.T) {
		if _, _, err := api.DeleteMessage(general, s.Posted()[0].TS); err != nil {
			t.Fatal(err)
		}
		page, err := api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: general})
		if err != nil || len(page.Messages) != 0 || len(s.Posted()) != 0 {
			t.Errorf("%v, %v", page, err)
		}
	})

	t.Run("an ephemeral message is in no history", func(t *testing.T) {
		if _, err := api.PostEphemeral(general, ann, slack.MsgOptionText("psst", false)); err != nil {
			t.Fatal(err)
		}
		page, err := api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: general})
		if err != nil || len(page.Messages) != 0 {
			t.Errorf("%v, %v", page, err)
		}
		if m := s.Posted(); len(m) != 1 || m[0].OnlyFor != ann {
			t.Errorf("%+v", m)
		}
	})

	t.Run("a long text and a call to everybody are complained of", func(t *testing.T) {
		if _, _, err := api.PostMessage(general, slack.MsgOptionText("<!here>"+strings.Repeat("x", 40_000), false)); err != nil {
			t.Fatal(err)
		}
		if n := len([]rune(s.Posted()[1].Text)); n != 40_000 {
			t.Errorf("%d characters are left", n)
		}
		if all := s.Complaints(); len(all) != 2 {
			t.Errorf("complaints: %q", all)
		}
	})
}

func TestTokensAndContentTypes(t *testing.T) {
	s := start(t, calm())
	for claim, c := range map[string]struct{ method, kind, token, body, refusal string }{
		"a form may carry the token":            {"auth.test", "application/x-www-form-urlencoded", "", "token=" + slacktest.BotToken, ""},
		"a form with the token in the header":   {"auth.test", "application/x-www-form-urlencoded", slacktest.BotToken, "a=b", ""},
		"an unknown bot token":                  {"auth.test", "application/x-www-form-urlencoded", "xoxb-other", "a=b", "invalid_auth"},
		"an app token for the Web API":          {"auth.test", "application/x-www-form-urlencoded", slacktest.AppToken, "a=b", "not_allowed_token_type"},
		"a bot token for Socket Mode":           {"apps.connections.open", "application/x-www-form-urlencoded", slacktest.BotToken, "a=b", "not_allowed_token_type"},
		"an unknown method":                     {"chat.shout", "application/x-www-form-urlencoded", slacktest.BotToken, "a=b", "unknown_method"},
		"text is no content type for arguments": {"auth.test", "text/plain", slacktest.BotToken, "a=b", "invalid_post_type"},
		"a missing argument of conversations.*": {"conversations.info", "application/x-www-form-urlencoded", slacktest.BotToken, "a=b", "channel_not_found"},
	} {
		t.Run(claim, func(t *testing.T) {
			request, err := http.NewRequest(http.MethodPost, s.APIURL+c.method, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", c.kind)
			if c.token != "" {
				request.Header.Set("Authorization", "Bearer "+c.token)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			want := `"ok":true`
			if c.refusal != "" {
				want = `"error":"` + c.refusal + `"`
			}
			if err != nil || !strings.Contains(string(body), want) {
				t.Errorf("got %s, want %s", body, want)
			}
		})
	}
}

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
	s, general, ann := town(t, o)
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
