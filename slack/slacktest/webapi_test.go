// How strict the workspace is in what it accepts over HTTP.
package slacktest_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	"cairn/internal/check"
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
		check.NoError(t, err)
		if _, _, _, err := api.UpdateMessage(general, ts, slack.MsgOptionText("two", false)); err != nil {
			t.Fatal(err)
		}
		page, err := api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: general, IncludeAllMetadata: true})
		check.NoError(t, err)
		check.Len(t, "messages", page.Messages, 1)
		if m := page.Messages[0]; m.Text != "two" || m.Metadata.EventPayload["id"] != "7" || m.BotID != slacktest.BotID || m.Edited == nil {
			t.Errorf("%+v", m.Msg)
		}
	})

	t.Run("an edit beyond 4 000 is refused", func(t *testing.T) {
		check.Equal(t, "the refusal", code(error4(api.UpdateMessage(general, s.Posted()[0].TS, slack.MsgOptionText(strings.Repeat("x", 4001), false)))), "msg_too_long")
	})

	t.Run("a deleted message is in no history", func(t *testing.T) {
		check.NoError(t, error3(api.DeleteMessage(general, s.Posted()[0].TS)))
		page, err := api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: general})
		if err != nil || len(page.Messages) != 0 || len(s.Posted()) != 0 {
			t.Errorf("%v, %v", page, err)
		}
	})

	t.Run("an ephemeral message is in no history", func(t *testing.T) {
		check.Must(api.PostEphemeral(general, ann, slack.MsgOptionText("psst", false)))(t)
		page := check.Must(api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: general}))(t)
		check.Len(t, "messages", page.Messages, 0)
		if m := s.Posted(); len(m) != 1 || m[0].OnlyFor != ann {
			t.Errorf("%+v", m)
		}
	})

	t.Run("a long text and a call to everybody are complained of", func(t *testing.T) {
		check.NoError(t, error3(api.PostMessage(general, slack.MsgOptionText("<!here>"+strings.Repeat("x", 40_000), false))))
		check.Equal(t, "characters that are left", len([]rune(s.Posted()[1].Text)), 40_000)
		check.Equal(t, "complaints", len(s.Complaints()), 2)
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
			request := check.Must(http.NewRequest(http.MethodPost, s.APIURL+c.method, strings.NewReader(c.body)))(t)
			request.Header.Set("Content-Type", c.kind)
			if c.token != "" {
				request.Header.Set("Authorization", "Bearer "+c.token)
			}
			response := check.Must(http.DefaultClient.Do(request))(t)
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			want := `"ok":true`
			if c.refusal != "" {
				want = `"error":"` + c.refusal + `"`
			}
			check.NoError(t, err)
			check.Contains(t, "body", string(body), want)
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
		who := check.Must(api.AuthTest())(t)
		check.Equal(t, "X-OAuth-Scopes", who.Header.Get("X-OAuth-Scopes"), "chat:write,channels:read")
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
	check.Equal(t, "events", len(s.Deliveries()), 1)
}

func TestWithoutAScopeAFileIsNotGivenOut(t *testing.T) {
	o := calm()
	o.Scopes = []string{"channels:history"}
	s, general, ann := town(t, o)
	s.Say(slacktest.Post{Channel: general, User: ann, Files: []slacktest.File{{Name: "a.txt", Content: []byte("inside")}}})
	api := client(t, s)
	page := check.Must(api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: general}))(t)
	check.ErrorContains(t, "the error", api.GetFile(page.Messages[0].Files[0].URLPrivateDownload, io.Discard), "sign-in")
}
