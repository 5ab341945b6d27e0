package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"cairn/internal/check"

	"cairn/discord/discordtest"
	"cairn/llm/llmtest"
	"cairn/slack/slacktest"
)

// platforms are a Discord and a Slack with a person and the bot.
type platforms struct {
	t       *testing.T
	ctx     context.Context
	discord *discordtest.Server
	slack   *slacktest.Server

	ann      *discordgo.User
	square   string // a channel of Discord
	ben, lab string // a person and a channel of Slack
}

func newPlatforms(t *testing.T) *platforms {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	p := &platforms{t: t, ctx: ctx, discord: discordtest.New(discordtest.Options{RefusePings: true}), slack: slacktest.New(slacktest.Options{})}
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
	f.write("config.toml", fmt.Sprintf("%s\n[discord]\napi_base = %q\n[slack]\napi_base = %q\n", settings, p.discord.URL, p.slack.APIURL))
	return f
}

// answering starts a program whose model gives everybody the same reply.
func answering(t *testing.T, text string, args ...string) (p *platforms, f folder, r *running) {
	t.Helper()
	server := llmtest.NewServer(func(x *llmtest.Exchange) { x.Say(text) })
	t.Cleanup(server.Close)
	p = newPlatforms(t)
	f = p.folder("", "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m", "OPENAI_API_KEY=k")
	r = f.background(append([]string{"run"}, args...)...)
	p.open(r)
	return p, f, r
}

// sayOnBoth sends a message to the bot on Discord and on Slack.
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

// onDiscord returns the current texts of the bot's messages on Discord.
func (p *platforms) onDiscord() (texts []string) {
	for _, m := range p.discord.Sent(p.square) {
		if !m.Deleted {
			texts = append(texts, m.Content)
		}
	}
	return texts
}

// onSlack returns the current texts of the bot's messages on Slack.
func (p *platforms) onSlack() (texts []string) {
	for _, m := range p.slack.Posted() {
		if m.Channel == p.lab && !m.Deleted {
			texts = append(texts, m.Shown())
		}
	}
	return texts
}

// wait waits until said returns a text that contains part.
func (p *platforms) wait(r *running, said func() []string, part string) {
	p.t.Helper()
	p.until(r, part, func() bool { return strings.Contains(strings.Join(said(), "\n"), part) })
}

func (p *platforms) until(r *running, what string, holds func() bool) {
	p.t.Helper()
	for ; !holds(); time.Sleep(10 * time.Millisecond) {
		if p.ctx.Err() != nil {
			p.t.Fatalf("timed out waiting for %s; Discord has %q, Slack %q, standard error\n%s", what, p.onDiscord(), p.onSlack(), r.errs)
		}
	}
}

// open waits until the connectors are open: messages from now on are received at once.
func (p *platforms) open(r *running) {
	p.t.Helper()
	p.until(r, "both connectors are open", func() bool {
		connections := p.discord.Connections()
		return len(connections) > 0 && connections[0].Identify && len(p.slack.Sockets()) > 0
	})
}

// answers counts the messages with exactly this text, on Discord and on Slack.
func (p *platforms) answers(text string) (n [2]int) {
	for i, said := range [][]string{p.onDiscord(), p.onSlack()} {
		for _, one := range said {
			if one == text {
				n[i]++
			}
		}
	}
	return n
}

// running is a program that runs until it is stopped.
type running struct {
	t     *testing.T
	cmd   *exec.Cmd
	errs  *check.Buffer
	ended chan struct{}
}

func (p folder) background(args ...string) *running {
	p.t.Helper()
	r := &running{t: p.t, cmd: p.command(args...), errs: &check.Buffer{}, ended: make(chan struct{})}
	r.cmd.Stderr = r.errs
	check.NoError(p.t, r.cmd.Start())
	go func() {
		defer close(r.ended)
		_ = r.cmd.Wait() // the exit code shows it
	}()
	p.t.Cleanup(func() {
		_ = r.cmd.Process.Kill() // it may have ended
		<-r.ended
	})
	return r
}

func (r *running) signal(s syscall.Signal) {
	r.t.Helper()
	check.NoError(r.t, r.cmd.Process.Signal(s))
}

// exits waits for the end, and wants an exit code.
func (r *running) exits(want int) {
	r.t.Helper()
	if code := r.code(); code != want {
		r.t.Errorf("got exit code %d, want %d\n%s", code, want, r.errs)
	}
}

// code waits for the end and returns the exit code.
func (r *running) code() int {
	r.t.Helper()
	select {
	case <-r.ended:
		return r.cmd.ProcessState.ExitCode()
	case <-time.After(time.Minute):
		r.t.Fatalf("the program does not end; output:\n%s", r.errs)
		return 0
	}
}
