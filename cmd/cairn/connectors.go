// The connectors that `cairn run` opens, built from settings and environment.

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

// outerConnector is a connector to a platform. Run returns when its context ends, or after a
// failure that only a person can fix; Check tells beforehand whether it would open.
type outerConnector interface {
	channel.Connector
	Run(ctx context.Context, hub *channel.Hub) error
	Connected() bool
	Check(ctx context.Context) (facts []string, err error)
}

var (
	_ outerConnector = (*discord.Discord)(nil)
	_ outerConnector = (*slack.Slack)(nil)
)

var errNoConnector = errors.New(`no connector to start: set DISCORD_TOKEN for Discord, or SLACK_BOT_TOKEN and SLACK_APP_TOKEN for Slack, or name files that hold them in the settings; docs/discord.md and docs/slack.md say where to get the tokens. Without tokens, use ` + "`cairn chat`")

// openConnectors builds the connectors that have a token. It fails if there are none, unless the
// dashboard is served.
func (a *app) openConnectors(log *slog.Logger) (connectors []outerConnector, err error) {
	for _, open := range []func(*slog.Logger) (outerConnector, error){a.openDiscord, a.openSlack} {
		connector, err := open(log)
		if err != nil {
			return nil, err
		}
		if connector != nil {
			connectors = append(connectors, connector)
		}
	}
	if len(connectors) == 0 && a.webSide == nil {
		return nil, errNoConnector
	}
	return connectors, nil
}

// openDiscord returns nil without a token.
func (a *app) openDiscord(log *slog.Logger) (outerConnector, error) {
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

// openSlack returns nil without tokens. It fails if only one of the two is set.
func (a *app) openSlack(log *slog.Logger) (outerConnector, error) {
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
