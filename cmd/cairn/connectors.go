// What `cairn run` opens, built from settings and environment: connectors to platforms, and the web server.

package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof" // registers /debug/pprof/ in http.DefaultServeMux
	"time"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/config"
	"cairn/discord"
	"cairn/slack"
	"cairn/web"
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

// openConnectors builds the connectors that have a token; Slack needs two. It fails if there are none,
// unless the dashboard is served.
func (a *app) openConnectors(log *slog.Logger) (connectors []outerConnector, err error) {
	s, catchUp := a.settings, time.Duration(a.settings.CatchUp)
	token, err := s.DiscordToken()
	if err != nil {
		return nil, err
	}
	if token != "" {
		connector, err := discord.New(discord.Options{
			Token: token, APIBase: s.Discord.APIBase, MentionOnly: !s.Discord.MessageContent,
			AttachmentTokens: s.AttachmentTokens, Pictures: s.Pictures, CatchUp: catchUp, Log: log,
		})
		if err != nil {
			return nil, err
		}
		connectors = append(connectors, connector)
	}
	bot, app, err := s.SlackTokens()
	if err != nil {
		return nil, err
	}
	if bot != "" {
		connector, err := slack.New(slack.Options{
			BotToken: bot, AppToken: app, APIBase: s.Slack.APIBase, Working: s.Slack.Working, ReplyIn: s.Slack.ReplyIn,
			AttachmentTokens: s.AttachmentTokens, Pictures: s.Pictures, CatchUp: catchUp, Log: log,
		})
		if err != nil {
			return nil, err
		}
		connectors = append(connectors, connector)
	}
	if len(connectors) == 0 && a.webSide == nil {
		return nil, errNoConnector
	}
	return connectors, nil
}

func (a *app) addWebFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.web, "web", "", "serve the dashboard and the HTTP API at `ADDRESS` (listen under [web])")
}

// webSide is the part of the web server that exists before the bot is open.
type webSide struct {
	listener net.Listener
	token    string
	events   *web.Events
	chat     *web.Chat
}

// openWeb prepares the web server, if the settings have an address.
func (a *app) openWeb() error {
	address := a.settings.Web.Listen
	if address == "" {
		return nil
	}
	token, err := a.settings.WebToken()
	if err == nil {
		err = config.CheckWeb(address, token)
	}
	if err != nil {
		return usage(err)
	}
	events := web.NewEvents()
	events.Mask = a.secrets.attr
	a.webSide = &webSide{token: token, events: events, chat: web.NewChat(events)}
	return nil
}

func (b *bot) newWeb(health *health) *web.Server {
	w := b.app.webSide
	o := web.Options{
		Hub: b.hub, Store: b.store, Events: w.events, Listener: w.listener, Token: w.token, Hosts: b.app.settings.Web.Hosts,
		Settings: b.settings,
		Log:      b.log, Version: version(), Health: health.handler, OpenMetrics: b.app.settings.Health == b.app.settings.Web.Listen,
		MCPWrites: b.app.settings.Web.MCPWrites,
		Ready:     func(ctx context.Context) (bool, []web.Part) { s := health.ready(ctx); return s.OK, s.Parts },
	}
	if b.app.settings.Web.Debug {
		o.Debug = http.DefaultServeMux
	}
	return web.New(o)
}

// runner is what `cairn run` runs: a connector to a platform, or the web server.
type runner interface {
	Name() string
	Run(ctx context.Context, hub *channel.Hub) error
}

var _ runner = (*web.Server)(nil)
