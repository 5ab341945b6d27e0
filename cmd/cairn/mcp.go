// MCP, both ways: cairn mcp serves the memories and conversations to the models of other programs; the bot uses tools of
// other servers.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/config"
	"cairn/mcp"
	"cairn/store"
	"cairn/web"
)

func newMCP(a *app) *cobra.Command {
	var write bool
	cmd := &cobra.Command{
		Use:   "mcp [--write]",
		Short: "Serve memories and conversations to MCP clients",
		Long: `Serve the bot's memories and messages to a client of the Model Context Protocol over standard
input and output; the log goes to standard error. Configure it in the client as the command
"cairn mcp", with --config if the settings are elsewhere.

It only reads, and works while the bot runs. With --write, clients may save and forget memories,
and compact a conversation; while the bot runs, these changes go through its [web] address. A
running bot serves the same at /mcp of that address.`,
		Example: `  cairn mcp
  cairn --config /etc/cairn/config.toml mcp --write`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.mcp(cmd.Context(), write) },
	}
	cmd.Flags().BoolVar(&write, "write", false, "let clients save and forget memories, and compact")
	return cmd
}

func (a *app) mcp(ctx context.Context, write bool) error {
	if err := a.load(); err != nil {
		return err
	}
	if !write {
		if err := a.withSharedStore(ctx, func(*store.Store) error { return nil }); err != nil {
			return err
		}
		return a.serveMCP(ctx, a.databaseAPI(), false)
	}
	bot, answers, err := a.remoteAPI(ctx)
	switch {
	case err != nil:
		return err
	case !answers:
		return a.mcpAlone(ctx, a.logger(a.err, slog.LevelWarn))
	}
	return a.serveMCP(ctx, web.WithChangesTo(bot, a.databaseAPI(), a.settings.Web.Listen), true)
}

// mcpAlone serves a client with write access while no bot is running, and keeps one from starting.
func (a *app) mcpAlone(ctx context.Context, log *slog.Logger) error {
	db, err := store.Open(ctx, store.Options{Dir: a.settings.DataDir, Log: log})
	if errors.Is(err, store.ErrInUse) {
		return fmt.Errorf("%w; to change anything while the bot runs, set listen under [web]", err)
	}
	if err != nil {
		return err
	}
	api, end, err := a.apiOver(ctx, db)
	if err == nil {
		err = errors.Join(a.serveMCP(ctx, api, true), end())
	}
	return errors.Join(err, db.Close())
}

// databaseAPI reads from the database, possibly beside a running bot. It opens the database for
// each call: a newer bot may have migrated it, and usage and learned facts change.
func (a *app) databaseAPI() web.API {
	return func(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, error) {
		db, err := store.Open(ctx, store.Options{Dir: a.settings.DataDir, Shared: true})
		if err != nil {
			return nil, fmt.Errorf("read the database: %w", err)
		}
		api, end, err := a.apiOver(ctx, db)
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		text, err := api(ctx, method, path, query, body)
		return text, errors.Join(err, end(), db.Close())
	}
}

func (a *app) serveMCP(ctx context.Context, api web.API, write bool) error {
	err := web.NewMCP(api, write, version()).Run(ctx, &sdk.StdioTransport{})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// remoteAPI returns the API of a running bot, or nil if the settings have no [web] address. answers
// reports whether a bot answers; err says why a bot that answers cannot be used.
func (a *app) remoteAPI(ctx context.Context) (api web.API, answers bool, err error) {
	address := a.settings.Web.Listen
	if address == "" {
		return nil, false, nil
	}
	token, err := a.settings.WebToken()
	if err != nil {
		return nil, false, usage(err)
	}
	// No proxy is used, and no connection is reused, so that a change is never sent twice.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: time.Second}).DialContext}}
	api = web.Remote(client, "http://"+reachable(address), token)
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var refused *web.Problem
	_, err = api(limited, http.MethodGet, "/api/usage", nil, nil)
	switch {
	case errors.As(err, &refused) && refused.Status == http.StatusUnauthorized:
		return api, false, usage(fmt.Errorf("the bot at %s rejects the token: set CAIRN_WEB_TOKEN, or token under [web], to the bot's token", address))
	case err != nil && refused == nil:
		return api, false, nil
	}
	return api, true, nil
}

// apiOver returns the API of a process without connectors; end releases its resources.
func (a *app) apiOver(ctx context.Context, db *store.Store) (api web.API, end func() error, err error) {
	agents, log, err := a.agents(ctx, db)
	if err != nil {
		return nil, nil, err
	}
	used, err := db.Usage(ctx, channel.MonthStart(time.Now()))
	if err != nil {
		return nil, nil, err
	}
	hub := channel.New(channel.Options{Store: db, Agent: agents.In, Agents: agents.Named, Rules: a.settings.Rules(), Log: log, Used: used})
	server := web.New(web.Options{
		Hub: hub, Store: db, Settings: func() *config.Settings { return &a.settings }, Events: web.NewEvents(), Log: log, Version: version(),
	})
	return server.API(), hub.Close, nil
}

// toolbox has the tools of the connected MCP servers in the settings.
type toolbox struct{ b *bot }

func (t toolbox) Tools(servers []string) (tools []channel.Tool) {
	approve := map[string]string{}
	for _, s := range t.b.settings().Tools {
		approve[s.ID] = s.Approve
	}
	for _, tool := range t.b.tools.Tools(servers) {
		tools = append(tools, channel.Tool{Tool: tool.Tool, Server: tool.Server, Approve: approve[tool.Server]})
	}
	return tools
}

// toolTimeout is how long after the start turns wait for tool servers.
const toolTimeout = 15 * time.Second

// Ready lets the first turns and resumed tasks wait for their tools. The tools of a slower server
// are available from the first turn after it has connected.
func (t toolbox) Ready(ctx context.Context, servers []string) {
	limited, cancel := context.WithDeadline(ctx, t.b.connectStart.Add(toolTimeout))
	defer cancel()
	_ = t.b.tools.Tried(limited, servers) // each connection logs its own failure
}

func (t toolbox) Servers() (all []channel.ToolServer) {
	for _, s := range t.b.tools.Status() {
		one := channel.ToolServer{ID: s.ID, Problem: s.Error}
		for _, tool := range s.Tools {
			one.Tools = append(one.Tools, mcp.ToolName(s.ID, tool))
		}
		all = append(all, one)
	}
	return all
}

// toolsChanged gives open conversations the current tools from their next turn on.
func (b *bot) toolsChanged() { b.hub.Renew(b.rules(b.settings())) }
