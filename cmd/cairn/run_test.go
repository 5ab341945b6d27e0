package main

import (
	"strings"
	"syscall"
	"testing"

	"cairn/config"
	"cairn/internal/check"

	"cairn/slack/slacktest"
)

func TestRun(t *testing.T) {
	t.Parallel()
	p := newPlatforms(t)
	f := p.folder("")
	r := f.start("run")
	p.open(r)
	p.sayOnDiscord("I prefer tea.")
	p.wait(r, p.onDiscord, "#1")
	p.sayOnSlack("I prefer coffee.")
	p.wait(r, p.onSlack, "#1")
	t.Run("each conversation is answered out of what was said in it", func(t *testing.T) {
		p.sayOnDiscord("What do I prefer?")
		p.wait(r, p.onDiscord, "I prefer tea.")
		p.sayOnSlack("What do I prefer?")
		p.wait(r, p.onSlack, "I prefer coffee.")
		check.Lacks(t, "Slack", strings.Join(p.onSlack(), ""), "tea")
		check.Lacks(t, "Discord", strings.Join(p.onDiscord(), ""), "coffee")
	})
	t.Run("the transcript can be read beside it", func(t *testing.T) {
		check.Contains(t, "output", f.must("", "transcript", "--channel", "slack:"+slacktest.TeamID+"/"+p.lab), "I prefer coffee.")
	})
	t.Run("SIGTERM ends it with its number, and it said what it opened", func(t *testing.T) {
		r.stop()
		said := r.errs.String()
		check.Contains(t, "output", said, `"connectors":["discord","slack"],"agents":["cairn (offline)"],"data":"data"`)
		check.Lacks(t, "output", said, slacktest.BotToken, slacktest.AppToken)
	})
	check.Len(t, "complaints of Slack", p.slack.Complaints(), 0)
}

// A list from an earlier version lacks newer commands.
func TestUnrestrictedCommandsAreListed(t *testing.T) {
	s := check.Must(config.Parse("config.toml", []byte("restricted = [\"compact\", \"forget\", \"new\", \"pause\", \"resume\", \"undo\"]\n")))(t)
	check.EqualAll(t, "commands", s.Unrestricted(), []string{"pin", "settings", "unpin"})
	s = config.Default()
	check.Len(t, "commands by default", s.Unrestricted(), 0)
}

func TestRunWithoutTokens(t *testing.T) {
	for _, test := range []struct {
		name string
		env  []string
		want string
	}{
		{"none at all", nil, "no connector to start: set DISCORD_TOKEN for Discord, or SLACK_BOT_TOKEN and SLACK_APP_TOKEN for Slack"},
		{"one of Slack's", []string{"SLACK_BOT_TOKEN=xoxb-hush"}, "slack needs two tokens and has one: set SLACK_BOT_TOKEN and SLACK_APP_TOKEN"},
		{"the other of Slack's, though Discord's is there", []string{"SLACK_APP_TOKEN=xapp-hush", "DISCORD_TOKEN=hush"}, "slack needs two tokens and has one"},
		{"Slack's two changed about", []string{"SLACK_BOT_TOKEN=xapp-hush", "SLACK_APP_TOKEN=xoxb-hush"}, "slack: not a bot token"},
		{"no token of Slack", []string{"SLACK_BOT_TOKEN=xoxb-hush", "SLACK_APP_TOKEN=hush"}, "slack: not an app-level token"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, variable := range test.env {
				name, value, _ := strings.Cut(variable, "=")
				t.Setenv(name, value)
			}
			r := newFolder(t).runHere("", []string{"run"})
			if r.code != exitUsage || !strings.HasPrefix(r.err, "cairn: ") || !strings.Contains(r.err, test.want) || r.out != "" || strings.Contains(r.err, "hush") {
				t.Errorf("exit code %d, output %q, errors %q", r.code, r.out, r.err)
			}
		})
	}
}

func TestRunWithRejectedTokens(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		env  []string
		word string // that the reason contains
	}{
		{"both", []string{"DISCORD_TOKEN=hush", "SLACK_BOT_TOKEN=xoxb-hush"}, "token"},
	} {
		t.Run(test.name+" end the program with words and exit code 1", func(t *testing.T) {
			p := newPlatforms(t)
			r := p.folder("", test.env...).start("run")
			r.exits(exitFailed)
			said := r.errs.String()
			reason := said[strings.LastIndex(strings.TrimSpace(said), "\n")+1:]
			check.HasPrefix(t, "reason", reason, "cairn: ")
			check.Contains(t, "reason", reason, test.word)
			check.Lacks(t, "the output", said, "hush")
		})
	}
	t.Run("one connector's do not keep the other closed", func(t *testing.T) {
		p := newPlatforms(t)
		r := p.folder("", "DISCORD_TOKEN=hush").start("run")
		p.until(r, "the connector is closed", func() bool { return strings.Contains(r.errs.String(), "connector_closed") })
		p.until(r, "the other connector is open", func() bool { return len(p.slack.Sockets()) > 0 })
		p.sayOnSlack("I prefer coffee.")
		p.wait(r, p.onSlack, "#1")
		r.signal(syscall.SIGINT)
		r.exits(130)
		check.Lacks(t, "the output", r.errs.String(), "hush")
	})
}
