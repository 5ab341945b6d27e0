// What is connected to a bot: platforms, the web server, and MCP, both ways: cairn mcp, and tools of servers.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	_ "net/http/pprof" // registers /debug/pprof/ in http.DefaultServeMux
	"net/url"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/config"
	"cairn/connector/discord"
	"cairn/connector/platform"
	"cairn/connector/slack"
	"cairn/mcp"
	"cairn/store"
	"cairn/web"
)

// outerConnector is a connector to a platform. Run returns when its context ends, or after a
// failure that only a person can fix; Check tells beforehand whether it would open.
type outerConnector interface {
	channel.Connector
	Run(ctx context.Context, hub *channel.Hub) error
	Connected() bool
	Problem() string // what it waits for if the platform does not answer; else empty
	Heard() (at time.Time, delay time.Duration)
	Check(ctx context.Context) (facts []string, err error)
	// Trial prepares a trial in a conversation; see platform.Trial. The connector must not run.
	Trial(ctx context.Context, hub *channel.Hub, conversation string) (*platform.Trial, error)
}

var (
	_ outerConnector = (*discord.Discord)(nil)
	_ outerConnector = (*slack.Slack)(nil)

	_ shardedConnector = (*discord.Discord)(nil)
)

// shardedConnector is a connector with several connections to its platform.
type shardedConnector interface{ Status() discord.Status }

var errNoConnector = errors.New("no connector to start: set DISCORD_TOKEN for Discord, or SLACK_BOT_TOKEN and SLACK_APP_TOKEN for Slack " +
	"(docs/discord.md and docs/slack.md); without tokens, use `cairn chat`")

// openConnectors builds the connectors that have a token; Slack needs two. It fails if there are none,
// unless the dashboard is served.
func openConnectors(s *config.Settings, r *readers, dashboard bool, log *slog.Logger) (connectors []outerConnector, err error) {
	catchUp := time.Duration(s.CatchUp)
	token, err := s.DiscordToken()
	if err != nil {
		return nil, err
	}
	if token != "" {
		connector, err := discord.New(discord.Options{
			Token: token, APIBase: s.Discord.APIBase, MentionOnly: !s.Discord.MessageContent, Threads: s.Discord.Threads, Reactions: s.Discord.Reactions, Shards: s.Discord.Shards,
			AttachmentTokens: s.AttachmentTokens, Pictures: s.Pictures, Voice: r.voice, PDF: r.pdf, CatchUp: catchUp, Log: log,
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
			BotToken: bot, AppToken: app, APIBase: s.Slack.APIBase, Working: s.Slack.Working, ReplyIn: s.Slack.ReplyIn, Direct: s.Slack.Direct, Reactions: s.Slack.Reactions,
			AttachmentTokens: s.AttachmentTokens, Pictures: s.Pictures, Voice: r.voice, PDF: r.pdf, CatchUp: catchUp, Log: log,
		})
		if err != nil {
			return nil, err
		}
		connectors = append(connectors, connector)
	}
	if len(connectors) == 0 && !dashboard {
		return nil, errNoConnector
	}
	return connectors, nil
}

// runner is what `cairn run` runs: a connector to a platform, or the web server.
type runner interface {
	Name() string
	Run(ctx context.Context, hub *channel.Hub) error
}

var _ runner = (*web.Server)(nil)

func newMCP(a *app) *cobra.Command {
	var write bool
	cmd := &cobra.Command{
		Use:   "mcp [--write]",
		Short: "Serve memories and conversations to MCP clients",
		Long: `Serve the bot's memories and messages to a client of the Model Context Protocol over standard
input and output. It only reads. With --write, clients may save and forget memories, and compact a
conversation. While the bot runs, it answers, and makes the changes. It serves the same at /mcp of its
[web] address.`,
		Example: `  cairn mcp
  cairn --config /etc/cairn/config.toml mcp --write`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.mcp(cmd.Context(), write) },
	}
	cmd.Flags().BoolVar(&write, "write", false, "let clients save and forget memories, and compact")
	return cmd
}

func (a *app) mcp(ctx context.Context, write bool) error {
	serve := func(api web.API) error {
		err := web.NewMCP(api, write, version()).Run(ctx, &sdk.StdioTransport{})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	if !write {
		if err := a.withSharedStore(ctx, func(*store.Store) error { return nil }); err != nil {
			return err
		}
		return serve(a.readAPI)
	}
	bot, err := a.findToChange(ctx)
	switch {
	case err != nil:
		return err
	case bot != nil:
		return serve(web.WithChangesTo(bot.api(), a.readAPI, bot.at))
	}
	err = a.withAPI(ctx, false, serve) // this keeps a bot from starting
	if errors.Is(err, store.ErrInUse) {
		return fmt.Errorf("%w; it does not answer at its socket %s", err, socketName)
	}
	return err
}

// readAPI reads from the running bot or, if there is none, from the database. It opens the database for each call:
// a newer bot may have migrated it, and usage and learned facts change.
func (a *app) readAPI(ctx context.Context, method, path string, query url.Values, body any) (text json.RawMessage, err error) {
	bot, err := a.findReadable(ctx)
	if err != nil {
		return nil, err
	}
	if bot != nil {
		limited, cancel := context.WithTimeout(ctx, bot.within)
		defer cancel()
		text, err = bot.api()(limited, method, path, query, body)
		if _, refused := errors.AsType[*web.Problem](err); err == nil || refused || ctx.Err() != nil {
			return text, err
		} // it has just stopped, or does not answer
	}
	err = a.withAPI(ctx, true, func(api web.API) error {
		text, err = api(ctx, method, path, query, body)
		return err
	})
	return text, err
}

// withAPI calls do with the API of a process without connectors.
func (a *app) withAPI(ctx context.Context, shared bool, do func(web.API) error) error {
	return a.withStore(ctx, shared, func(db *store.Store) error {
		agents, log, err := a.agents(ctx, db)
		if err != nil {
			return err
		}
		used, err := db.Usage(ctx, access.MonthStart(time.Now()))
		if err != nil {
			return err
		}
		hub := channel.New(channel.Options{Store: db, Agent: agents.In, Agents: agents.Named, Rules: a.settings.Rules(), Log: log, Used: used})
		server := web.New(web.Options{
			Hub: hub, Store: db, Settings: func() *config.Settings { return &a.settings }, Events: web.NewEvents(), Log: log, Version: version(),
		})
		return errors.Join(do(server.API()), hub.Close())
	})
}

// toolbox has the tools of the connected MCP servers in the settings.
type toolbox struct {
	*mcp.Host
	started time.Time // when connecting to the servers started
}

// toolTimeout is how long after the start turns wait for tool servers.
const toolTimeout = 15 * time.Second

// Ready lets the first turns and resumed tasks wait for their tools. The tools of a slower server
// are available from the first turn after it has connected.
func (t *toolbox) Ready(ctx context.Context, servers []string) {
	limited, cancel := context.WithDeadline(ctx, t.started.Add(toolTimeout))
	defer cancel()
	_ = t.Tried(limited, servers) // each connection logs its failure
}

func (t *toolbox) Servers() (all []channel.ToolServer) {
	for _, s := range t.Status() {
		all = append(all, channel.ToolServer{ID: s.ID, Tools: s.Tools, Problem: s.Error})
	}
	return all
}

// toolsChanged gives open conversations the current tools from their next turn on.
func (b *bot) toolsChanged() { b.hub.Renew(b.rules(b.settings())) }
