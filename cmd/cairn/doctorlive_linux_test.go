package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

// leftNothing wants no message of the bot on either platform.
func (p *platforms) leftNothing() {
	p.t.Helper()
	check.Len(p.t, "messages that are left on Discord", p.onDiscord(), 0)
	check.Len(p.t, "messages that are left on Slack", p.onSlack(), 0)
}

func TestDoctorTriesAConversation(t *testing.T) {
	p := newPlatforms(t)
	f := p.folder("", modelAt(llmtest.Serve(t, summarizing(saying("yes"))))...)
	p.slack.Say(slacktest.Post{Channel: p.lab, User: p.ben, Text: "hello"})
	out := f.must("", "doctor", "--live", "slack:"+p.lab)
	check.Contains(t, "on Slack", out, "ok     worker    m, which summarizes for agent cairn: good enough", "on Slack: it now posts five or six messages",
		"ok     live      post: chat.postMessage: ok, ", "\n                 as expected: chat.postMessage takes", "ok     live      answer: conversations.history: ok, ", "chat.stopStream: ok, ",
		"nobody was asked to press it: standard input is no terminal", "ok     live      upload: not tried: Cairn uploads no files", "ok     live      clean up: ", "; left: 0")
	_, live, _ := strings.Cut(out, "it now posts")
	check.Lacks(t, "what people may pass on", live, p.lab, p.ben, slacktest.TeamID, slacktest.BotUserID, slacktest.BotToken, "hello")
	out = f.must("", "doctor", "--live", "discord:"+p.square, "--json")
	for line := range strings.Lines(out) {
		var found diagnosis
		check.NoError(t, json.Unmarshal([]byte(line), &found))
		check.That(t, found.Check != "live" || found.Step == "" || found.Seen != "" && (found.Skipped || found.Expected != ""), "an incomplete step: %s", line)
	}
	check.Contains(t, "on Discord", out, `{"check":"live","ok":true,"said":"repeat: POST /channels/*/messages: ok, `, `"step":"repeat","expected":"Create Message with the same nonce`)
	p.leftNothing()
	p.discord.Fail(discordtest.Fault{Of: "POST /channels/*/messages", Times: -1, Status: 403, Code: 50013})
	r := f.run("", "doctor", "--live", "discord:"+p.square)
	check.Equal(t, "exit code of a difference", r.code, exitFailed)
	check.Contains(t, "a difference", r.out, "WRONG  live      post: POST /channels/*/messages: HTTP 403, code 50013, ", "\n                 expected: Create Message takes a nonce", "ok     live      clean up: ")
	p.leftNothing()
}

func TestDoctorSaysWhereNothingCanBeTried(t *testing.T) {
	p := newPlatforms(t).folder("[llm]\nmodel = \"offline\"\n")
	for place, want := range map[string]string{
		"general": "name a conversation of Discord or Slack", "irc:x": "name a conversation of Discord or Slack", "slack:": "name a conversation of Discord or Slack", "": "name a conversation",
	} {
		p.fails(exitUsage, want, "doctor", "--live", place)
	}
	r := p.run("", "doctor", "--live", "slack:C000000999")
	check.Contains(t, "an unknown channel", r.out, "WRONG  live      there is no channel C000000999, or it is private and the bot is not in it: add it there with /invite")
	r = newFolder(t).run("", "doctor", "--live", "slack:C000000999")
	check.Contains(t, "without tokens", r.out, "WRONG  live      Slack cannot be tried: its tokens are not set")
}

// A press would reach the running bot, so nobody is asked for one.
func TestDoctorAsksNobodyToPressBesideABot(t *testing.T) {
	p, f, _ := served(t, summarizing(saying("yes")))
	out := f.run("", "doctor", "--live", "discord:"+p.square, "--wait").out
	check.Contains(t, "beside a bot", out, "nobody was asked to press it: the bot runs, and would get the press", "ok     live      clean up: ")
	p.leftNothing()
}

func TestDoctorCleansUpAfterCtrlC(t *testing.T) {
	for _, on := range []string{"slack", "discord"} {
		t.Run(on, func(t *testing.T) {
			p := newPlatforms(t)
			f := p.folder("", modelAt(llmtest.Serve(t, summarizing(saying("yes"))))...)
			p.slack.Say(slacktest.Post{Channel: p.lab, User: p.ben, Text: "hello"})
			place := map[string]string{"slack": "slack:" + p.lab, "discord": "discord:" + p.square}[on]
			p.slack.Fail(slacktest.Fault{Of: "chat.appendStream", Done: true, Delay: 2 * time.Second})
			p.discord.Fail(discordtest.Fault{Of: "PATCH /channels/*/messages/*", Done: true, Delay: 2 * time.Second})
			r := f.start("doctor", "--live", place, "--json")
			p.until(r, "an answer grows", func() bool {
				return p.slack.Seen("chat.appendStream")+len(p.discord.Requests("PATCH /channels/*/messages/*")) > 0
			})
			check.NoError(t, r.cmd.Process.Signal(os.Interrupt))
			lines, _ := r.rest()
			last := lines[len(lines)-1]
			check.Contains(t, "the last line", last, `"step":"clean up"`, "left: 0")
			p.leftNothing()
		})
	}
}
