// The questions of cairn setup about the platform: which one, and its tokens.

package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"cairn/connector/discord"
	"cairn/connector/slack"
	"cairn/internal/network"
)

const (
	onDiscord  = "discord"
	onSlack    = "slack"
	inTerminal = "terminal"
)

var platformChoices = []option{
	{onDiscord, "a Discord server"},
	{onSlack, "a Slack workspace"},
	{inTerminal, "only here, in the terminal"},
}

func (s *setup) choosePlatform(ctx context.Context) (err error) {
	s.chosen = s.platform
	if s.chosen == "" || s.again {
		s.chosen, err = s.choose(ctx, "--platform", "Where will people talk to the bot?", platformChoices)
		if err != nil {
			return err
		}
	}
	switch s.chosen {
	case onDiscord, onSlack:
	case inTerminal:
		s.hello = "Write: My name is Ada, and I prefer tea."
	default:
		return usage(fmt.Errorf("--platform %q: must be discord, slack or terminal", s.chosen))
	}
	return nil
}

func (s *setup) enterDiscordToken(ctx context.Context) (err error) {
	if s.discordToken.given == "" && s.tty != nil && !s.again {
		s.say("\n1. On https://discord.com/developers/applications press New Application\n   and name the bot.\n" +
			"2. Under Bot switch on Message Content Intent, and save.\n" +
			"3. There press Reset Token, and copy the token.")
	}
	s.token, err = s.secret(ctx, s.discordToken, "The token (hidden): ")
	if err != nil {
		return err
	}
	if err := s.lookAtDiscord(ctx); err != nil {
		return err
	}
	s.say("✓ The token works: the bot is %s.", s.discord.Bot)
	if !s.lacksContent() {
		s.inviteToDiscord()
	}
	return nil
}

func (s *setup) inviteToDiscord() {
	s.say("Invite it to a server with this link:\n\n  %s\n", discord.InviteURL(s.discord.ID))
	s.hello = fmt.Sprintf("In a Discord channel that it can see, write: @%s hello", s.discord.Bot)
}

// lacksContent reports whether the bot may not read messages, and is to.
func (s *setup) lacksContent() bool { return s.discord.NoContent && !s.withoutContent }

// lookAtDiscord asks Discord what the token belongs to.
func (s *setup) lookAtDiscord(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	d, err := discord.New(discord.Options{Token: s.token, APIBase: s.apiBase, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	found, err := d.Application(ctx)
	if err != nil {
		return s.platformError("Discord", err)
	}
	s.discord = found
	return nil
}

// platformError says in words why a platform cannot be reached; other errors already do.
func (s *setup) platformError(name string, err error) error {
	return cmp.Or(network.Explain(cmp.Or(s.apiBase, name), err), err)
}

// awaitContentIntent waits until the bot may read messages.
func (s *setup) awaitContentIntent(ctx context.Context) error {
	if s.again {
		if _, err := s.line(ctx, "--without-message-content", "Press Enter when it is on: "); err != nil {
			return err
		}
		if err := s.lookAtDiscord(ctx); err != nil {
			return err
		}
	}
	if s.lacksContent() {
		return fmt.Errorf("%w; or use --without-message-content", discord.ErrContentIntent)
	}
	s.inviteToDiscord()
	return nil
}

func (s *setup) enterSlackBotToken(ctx context.Context) (err error) {
	if s.slackBot.given == "" && s.tty != nil && !s.again {
		s.say("\n1. Create the app with this link: choose the workspace and confirm.\n\n  %s\n\n"+
			"2. Under OAuth & Permissions press Install to Workspace, and copy the Bot\n   User OAuth Token.", slack.CreateURL())
	}
	s.botToken, err = s.secret(ctx, s.slackBot, "The token xoxb-… (hidden): ")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	name, workspace, err := slack.CheckBotToken(ctx, s.botToken, s.apiBase)
	if err != nil {
		return s.platformError("Slack", err)
	}
	s.say("✓ The token works: the app is %s in the workspace %s.", name, workspace)
	s.hello = fmt.Sprintf("In a Slack channel, write: /invite @%s, and then: @%s hello", name, name)
	return nil
}

func (s *setup) enterSlackAppToken(ctx context.Context) (err error) {
	if s.slackApp.given == "" && s.tty != nil && !s.again {
		s.say("3. Under Basic Information, App-Level Tokens, press Generate Token and Scopes,\n   add connections:write, and copy the token.")
	}
	s.appToken, err = s.secret(ctx, s.slackApp, "The token xapp-… (hidden): ")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	if err := slack.CheckAppToken(ctx, s.appToken, s.apiBase); err != nil {
		return s.platformError("Slack", err)
	}
	s.say("✓ The app-level token works.")
	return nil
}
