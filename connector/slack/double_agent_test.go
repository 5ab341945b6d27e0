package slack

import (
	"fmt"
	"strings"
	"testing"

	slackgo "github.com/slack-go/slack"

	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

func TestSessionsAreAsStrictAsSlack(t *testing.T) {
	d := newDouble(t, slacktest.Options{Agent: true})
	asked := d.Say(slacktest.Post{Channel: d.general, User: d.ann, Text: "explain"})
	set := func(p slackgo.AgentSessionSetStatusParameters) string {
		if p.ThreadTS == "" {
			p.ThreadTS = asked
		}
		p.ChannelID = d.general
		return fmt.Sprint(check.ErrorOf(d.api.SetAgentSessionStatus(p)))
	}
	rename := func(title string) string {
		return fmt.Sprint(check.ErrorOf(d.api.RenameAgentSession(slackgo.AgentSessionRenameParameters{ChannelID: d.general, ThreadTS: asked, Title: title})))
	}
	status := func() string { session, _ := d.Session(d.general, asked); return session.Status + " " + session.Title }
	check.Equal(t, "a name before the session", rename("plan"), "session_not_found")
	check.Equal(t, "words", set(slackgo.AgentSessionSetStatusParameters{Status: "is thinking…"}), "invalid_arguments")
	check.Equal(t, "no words", set(slackgo.AgentSessionSetStatusParameters{}), "invalid_arguments")
	check.Equal(t, "a long title", set(slackgo.AgentSessionSetStatusParameters{Status: "active", Title: strings.Repeat("x", 201)}), "invalid_arguments")
	check.Equal(t, "an unknown thread", set(slackgo.AgentSessionSetStatusParameters{Status: "active", ThreadTS: "1.000000"}), "thread_not_found")
	check.Equal(t, "a session", set(slackgo.AgentSessionSetStatusParameters{Status: "processing", Title: "one"}), taken)
	check.Equal(t, "another title", set(slackgo.AgentSessionSetStatusParameters{Status: "active", Title: "two"}), taken)
	check.Equal(t, "the session", status(), "active one")
	check.Equal(t, "a name", rename("three")+rename(""), taken+"invalid_arguments")

	recipient := slackgo.MsgOptionCompose(slackgo.MsgOptionRecipientTeamID(slacktest.TeamID), slackgo.MsgOptionRecipientUserID(d.ann), slackgo.MsgOptionTS(asked))
	_, ts, err := d.api.StartStream(d.general, recipient, slackgo.MsgOptionMarkdownText("one"))
	check.NoError(t, err)
	check.Equal(t, "while it streams", status(), "processing three")
	_, _, err = d.api.StopStream(d.general, ts)
	check.NoError(t, err)
	check.Equal(t, "after that", status(), "active three")
	_, ts, err = d.api.StartStream(d.general, recipient, slackgo.MsgOptionMarkdownText("two"))
	check.NoError(t, err)
	d.StopSession(d.general, asked, d.ann)
	check.Equal(t, "after a click", status(), "processing three")
	for _, do := range []func(string, string, ...slackgo.MsgOption) (string, string, error){d.api.AppendStream, d.api.StopStream} {
		_, _, err := do(d.general, ts, slackgo.MsgOptionMarkdownText("more"))
		check.ErrorContains(t, "after a click", err, "stopped_by_user")
	}
	prompts := slackgo.AssistantThreadsSetSuggestedPromptsParameters{ChannelID: d.DM(d.ann), ThreadTS: "1.000000"}
	prompts.AddPrompt("a", "b")
	check.NoError(t, d.api.SetAssistantThreadsSuggestedPrompts(prompts))
	check.Len(t, "prompts with a thread", d.Prompts(prompts.ChannelID), 0)
	for range 4 {
		prompts.AddPrompt("a", "b")
	}
	check.ErrorContains(t, "five prompts", d.api.SetAssistantThreadsSuggestedPrompts(prompts), "invalid_arguments")
}

func TestSessionsAreForAgentsOnly(t *testing.T) {
	d := newDouble(t, slacktest.Options{Scopes: []string{"assistant:write", "chat:write"}})
	asked := d.Say(slacktest.Post{Channel: d.general, User: d.ann, Text: "explain"})
	_, err := d.api.SetAgentSessionStatus(slackgo.AgentSessionSetStatusParameters{ChannelID: d.general, ThreadTS: asked, Status: "active"})
	check.ErrorContains(t, "an app that is no agent", err, "not_authorized")
	d = &double{Server: slacktest.New(slacktest.Options{Agent: true, Unsubscribed: true}), t: t}
	t.Cleanup(d.Close)
	ann := d.AddUser("ann")
	general := d.AddChannel("general", ann)
	asked = d.Say(slacktest.Post{Channel: general, User: ann, Text: "explain"})
	api := slackgo.New(slacktest.BotToken, slackgo.OptionAPIURL(d.APIURL))
	response, err := api.SetAgentSessionStatus(slackgo.AgentSessionSetStatusParameters{ChannelID: general, ThreadTS: asked, Status: "active"})
	check.NoError(t, err)
	check.Equal(t, "the warning", response.Warning, unsubscribed)
}
