package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
	"cairn/testkit/storetest"
)

// platforms are a Discord and a Slack with a person and the bot.
type platforms struct {
	t       *testing.T
	discord *discordtest.Server
	slack   *slacktest.Server

	ann      *discordgo.User
	square   string // a channel of Discord
	ben, lab string // a person and a channel of Slack

	connections int                 // of Discord, when open returned
	sockets     []*slacktest.Socket // of Slack, when open returned
}

func newPlatforms(t *testing.T) *platforms {
	return platformsOf(t, discordtest.Options{RefusePings: true})
}

func platformsOf(t *testing.T, o discordtest.Options) *platforms {
	return platformsWith(t, o, slacktest.Options{})
}

func platformsWith(t *testing.T, o discordtest.Options, s slacktest.Options) *platforms {
	p := &platforms{t: t, discord: discordtest.New(o), slack: slacktest.New(s)}
	t.Cleanup(p.discord.Close)
	t.Cleanup(p.slack.Close)
	p.ann = p.discord.User("Ann")
	p.square = p.discord.Channel(p.discord.Guild("Town", p.ann).ID, "square").ID
	p.ben = p.slack.AddUser("Ben")
	p.lab = p.slack.AddChannel("lab", p.ben)
	return p
}

// folder returns a folder with the tokens in its environment and the addresses in its settings.
func (p *platforms) folder(settings string, env ...string) folder {
	f := newFolder(p.t, append([]string{
		"DISCORD_TOKEN=token", "SLACK_BOT_TOKEN=" + slacktest.BotToken, "SLACK_APP_TOKEN=" + slacktest.AppToken,
	}, env...)...)
	f.write("config.toml", fmt.Sprintf("%s\n"+noBackups+"[discord]\napi_base = %q\n[slack]\napi_base = %q\n", settings, p.discord.URL, p.slack.APIURL))
	storetest.CopyEmpty(p.t, filepath.Join(f.dir, "data"))
	return f
}

// served starts a program on both platforms, with a model.
func served(t *testing.T, script func(x *llmtest.Exchange), args ...string) (p *platforms, f folder, r *live) {
	t.Helper()
	p = newPlatforms(t)
	f = p.folder("", modelAt(llmtest.Serve(t, script))...)
	r = f.start(append([]string{"run"}, args...)...)
	p.open(r)
	return p, f, r
}

func (p *platforms) sayOnBoth(text string) {
	p.sayOnDiscord(text)
	p.sayOnSlack(text)
}

func (p *platforms) sayOnDiscord(text string) {
	p.discord.Say(p.square, p.ann.ID, "<@"+p.discord.Bot.ID+"> "+text)
}

func (p *platforms) sayOnSlack(text string) {
	p.slack.Say(slacktest.Post{Channel: p.lab, User: p.ben, Text: "<@" + slacktest.BotUserID + "> " + text})
}

func (p *platforms) onDiscord() (texts []string) {
	for _, m := range p.discord.Sent(p.square) {
		if !m.Deleted {
			texts = append(texts, m.Content)
		}
	}
	return texts
}

func (p *platforms) onSlack() (texts []string) {
	for _, m := range p.slack.Posted() {
		if m.Channel == p.lab && !m.Deleted {
			texts = append(texts, m.Shown())
		}
	}
	return texts
}

func (p *platforms) wait(r *live, said func() []string, part string) {
	p.t.Helper()
	p.until(r, part, func() bool { return strings.Contains(strings.Join(said(), "\n"), part) })
}

func (p *platforms) until(r *live, what string, holds func() bool) {
	p.t.Helper()
	eventually(p.t, what, func() string {
		return fmt.Sprintf("Discord has %q, Slack %q, standard error\n%s", p.onDiscord(), p.onSlack(), r.errs)
	}, holds)
}

// open waits until both connectors of a process are open: messages from now on are received at once. The connections of an
// earlier process do not count.
func (p *platforms) open(r *live) {
	p.t.Helper()
	p.until(r, "both connectors are open", func() bool {
		connections := p.discord.Connections()
		sockets := p.slack.Sockets()
		return len(connections) > p.connections && began(connections[p.connections]) && slices.ContainsFunc(sockets, p.isNew)
	})
	p.connections = len(p.discord.Connections())
	p.sockets = p.slack.Sockets()
}

// began reports whether a connection starts a session, or resumes one.
func began(c discordtest.Connection) bool { return c.Identify || c.Resume }

func (p *platforms) isNew(k *slacktest.Socket) bool { return !slices.Contains(p.sockets, k) }

func (p *platforms) answers(text string) (n [2]int) {
	for i, said := range [][]string{p.onDiscord(), p.onSlack()} {
		n[i] = len(slices.DeleteFunc(said, func(one string) bool { return one != text }))
	}
	return n
}

func (p *platforms) answered(r *live, text string, n int) {
	p.t.Helper()
	p.until(r, fmt.Sprintf("%d times %s", n, text), func() bool { return p.answers(text) == [2]int{n, n} })
}
