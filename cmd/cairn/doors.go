// The doors that `cairn run` opens, made out of settings and environment.
package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"cairn/channel"
	"cairn/discord"
	"cairn/slack"
)

// outerDoor is a door to a platform, which runs until its context ends, or until
// something is wrong that only a person can mend.
type outerDoor interface {
	channel.Door
	Run(ctx context.Context, hub *channel.Hub) error
}

var (
	_ outerDoor = (*discord.Discord)(nil)
	_ outerDoor = (*slack.Slack)(nil)
)

// errNoDoor says what is missing.
var errNoDoor = errors.New(`no door to open: set DISCORD_TOKEN for Discord, or SLACK_BOT_TOKEN and SLACK_APP_TOKEN for Slack, or name files that hold them in the settings; README.md tells where the tokens are from. Without any, ` + "`cairn chat`" + ` talks here and now`)

// openDoors makes the doors that have a token; none is an error.
func (a *app) openDoors(log *slog.Logger) (doors []outerDoor, err error) {
	for _, open := range []func(*slog.Logger) (outerDoor, error){a.openDiscord, a.openSlack} {
		door, err := open(log)
		if err != nil {
			return nil, err
		}
		if door != nil {
			doors = append(doors, door)
		}
	}
	if len(doors) == 0 {
		return nil, errNoDoor
	}
	return doors, nil
}

// openDiscord returns nil without a token.
func (a *app) openDiscord(log *slog.Logger) (outerDoor, error) {
	s := a.settings
	token, err := s.DiscordToken()
	if err != nil || token == "" {
		return nil, err
	}
	return discord.New(discord.Options{
		Token:            token,
		APIBase:          s.Discord.APIBase,
		MentionOnly:      !s.Discord.MessageContent,
		AttachmentTokens: s.AttachmentTokens,
		Pictures:         s.Pictures,
		CatchUp:          time.Duration(s.CatchUp),
		Log:              log,
	})
}

// openSlack returns nil without a token. One of the two is an error.
func (a *app) openSlack(log *slog.Logger) (outerDoor, error) {
	s := a.settings
	bot, app, err := s.SlackTokens()
	if err != nil || bot == "" {
		return nil, err
	}
	return slack.New(slack.Options{
		BotToken:         bot,
		AppToken:         app,
		APIBase:          s.Slack.APIBase,
		Working:          s.Slack.Working,
		ReplyIn:          s.Slack.ReplyIn,
		AttachmentTokens: s.AttachmentTokens,
		Pictures:         s.Pictures,
		CatchUp:          time.Duration(s.CatchUp),
		Log:              log,
	})
}
