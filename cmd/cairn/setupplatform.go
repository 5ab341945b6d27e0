// cairn setup: the platform and its tokens.

package main

import (
	"context"
	"fmt"
	"log/slog"

	"cairn/discord"
	"cairn/slack"
)

var platformChoices = []choice{
	{"discord", "a Discord server"},
	{"slack", "a Slack workspace"},
	{"terminal", "only here, in the terminal"},
}

func (s *setup) choosePlatform(ctx context.Context) (err error) {
	if s.platform == "" {
		if s.platform, err = s.ask.choose(ctx, "--platform", "Where will people talk to the bot?", platformChoices); err != nil {
			return err
		}
	}
	switch s.platform {
	case "discord":
		return s.setUpDiscord(ctx)
	case "slack":
		return s.setUpSlack(ctx)
	case "terminal":
		s.hello = "Write: My name is Ada, and I prefer tea."
		return nil
	}
	return usage(fmt.Errorf("--platform %q: must be discord, slack or terminal", s.platform))
}

func (s *setup) setUpDiscord(ctx context.Context) error {
	if s.discordToken.flag == "" && s.ask != nil {
		s.say("\n1. On https://discord.com/developers/applications press New Application\n   and name the bot.\n" +
			"2. Under Bot switch on Message Content Intent, and save.\n" +
			"3. There press Reset Token, and copy the token.")
	}
	var app discord.Application
	token, err := s.token(ctx, s.discordToken, "--discord-token", "The token (hidden): ", func(ctx context.Context, token string) (err error) {
		app, err = s.discordApplication(ctx, token)
		return err
	})
	if err != nil {
		return err
	}
	s.say("✓ The token works: the bot is %s.", app.Bot)
	err = s.retry(ctx, func(first bool) (err error) {
		if !first {
			if _, err := s.ask.line(ctx, "", "Press Enter when it is on: "); err != nil {
				return err
			}
			if app, err = s.discordApplication(ctx, token); err != nil {
				return err
			}
		}
		if app.NoContent && !s.withoutContent {
			return fmt.Errorf("%w; or use --without-message-content", discord.ErrContentIntent)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.say("Invite it to a server with this link:\n\n  %s\n", discord.InviteURL(app.ID))
	table := settingsTable{"token": s.keep("discord-token", token)}
	table.set("api_base", s.apiBase)
	if s.withoutContent {
		table["message_content"] = false
	}
	s.file["discord"] = table
	s.hello = fmt.Sprintf("In a Discord channel that it can see, write: @%s hello", app.Bot)
	return nil
}

// discordApplication asks Discord which application a token belongs to.
func (s *setup) discordApplication(ctx context.Context, token string) (discord.Application, error) {
	d, err := discord.New(discord.Options{Token: token, APIBase: s.apiBase, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return discord.Application{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	return d.Application(ctx)
}

// token reads a token and checks it with its platform; at a terminal it asks again until it is good.
func (s *setup) token(ctx context.Context, from source, flag, prompt string, check func(ctx context.Context, token string) error) (token string, err error) {
	err = s.retry(ctx, func(first bool) (err error) {
		if !first {
			from = source{}
		}
		if token, err = s.secret(ctx, from, flag, prompt); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, serverTimeout)
		defer cancel()
		return check(ctx, token)
	})
	return token, err
}

func (s *setup) setUpSlack(ctx context.Context) error {
	if s.slackBot.flag == "" && s.ask != nil {
		s.say("\n1. Create the app with this link: choose the workspace and confirm.\n\n  %s\n\n"+
			"2. Under OAuth & Permissions press Install to Workspace, and copy the Bot\n   User OAuth Token.", slack.CreateURL())
	}
	var name, workspace string
	bot, err := s.token(ctx, s.slackBot, "--slack-bot-token", "The token xoxb-… (hidden): ", func(ctx context.Context, token string) (err error) {
		name, workspace, err = slack.CheckBotToken(ctx, token, s.apiBase)
		return err
	})
	if err != nil {
		return err
	}
	s.say("✓ The token works: the app is %s in the workspace %s.", name, workspace)
	if s.slackApp.flag == "" && s.ask != nil {
		s.say("3. Under Basic Information, App-Level Tokens, press Generate Token and Scopes,\n   add connections:write, and copy the token.")
	}
	app, err := s.token(ctx, s.slackApp, "--slack-app-token", "The token xapp-… (hidden): ", func(ctx context.Context, token string) error {
		return slack.CheckAppToken(ctx, token, s.apiBase)
	})
	if err != nil {
		return err
	}
	s.say("✓ The app-level token works.")
	table := settingsTable{"bot_token": s.keep("slack-bot-token", bot), "app_token": s.keep("slack-app-token", app)}
	table.set("api_base", s.apiBase)
	s.file["slack"] = table
	s.hello = fmt.Sprintf("In a Slack channel, write: /invite @%s, and then: @%s hello", name, name)
	return nil
}
