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
	check.Len(t, "complaints", s.Complaints(), 0)
	_, ts, err := api.PostMessage(general, text(1))
	check.NoError(t, err)
	check.Equal(t, "an edit beyond 4 000", code(error4(api.UpdateMessage(general, ts, text(4001)))), "msg_too_long")
	check.NoError(t, error3(api.PostMessage(general, slack.MsgOptionText("<!here>"+strings.Repeat("x", 40_000), false))))
	check.Len(t, "complaints of a call to everybody and a long text", s.Complaints(), 2)
}

func repeat(b slack.Block, n int) []slack.Block {
	all := make([]slack.Block, n)
	for i := range all {
		all[i] = b
	}
	return all
}

func TestAResponseURLWorksFiveTimes(t *testing.T) {
	o := calm()
	o.ResponseURLLife = soon
	s, general, ann := town(t, o)
	api := client(t, s)
	url := s.Command(general, ann, "/weather", "Oslo")
	respond := func() error {
		return error4(api.SendMessage(general, slack.MsgOptionText("rain", false), slack.MsgOptionResponseURL(url, slack.ResponseTypeEphemeral)))
	}
	for range 5 {
		check.Error(t, respond(), nil)
	}
	if err := respond(); err == nil || s.Posted()[0].OnlyFor != ann {
		t.Errorf("the sixth: %v", err)
	}
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
		return check.ErrorOf(api.GetConversationInfo(&slack.GetConversationInfoInput{ChannelID: channel}))
	}
	check.NoError(t, error3(api.PostMessage(general, slack.MsgOptionText("x", false))))
	check.NoError(t, info(general))
	for needed, err := range map[string]error{
		"groups:read": info(private),
		"im:history":  check.ErrorOf(api.GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: s.DM(ann)})),
		"users:read":  check.ErrorOf(api.GetUserInfo(ann)),
	} {
		var refused slack.SlackErrorResponse
		if !errors.As(err, &refused) || refused.Err != "missing_scope" || refused.Needed != needed || refused.Provided != "chat:write,channels:read" {
			t.Errorf("got %+v, want %s to be needed", refused, needed)
		}
	}
	who := check.Must(api.AuthTest())(t)
	check.Equal(t, "X-OAuth-Scopes", who.Header.Get("X-OAuth-Scopes"), "chat:write,channels:read")
}
