// MCP, both ways: cairn mcp serves the memories and conversations to the models of other programs; the bot uses tools of
// other servers.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	bot, answers, err := a.remoteAPI(ctx)
	switch {
	case err != nil:
		return err
	case answers:
		return serve(web.WithChangesTo(bot, a.readAPI, a.settings.Web.Listen))
	}
	err = a.withAPI(ctx, false, serve) // this keeps a bot from starting
	if errors.Is(err, store.ErrInUse) {
		return fmt.Errorf("%w; to change anything while the bot runs, set listen under [web]", err)
	}
	return err
}

// readAPI reads from the database, possibly beside a running bot. It opens the database for each call:
// a newer bot may have migrated it, and usage and learned facts change.
func (a *app) readAPI(ctx context.Context, method, path string, query url.Values, body any) (text json.RawMessage, err error) {
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
		used, err := db.Usage(ctx, channel.MonthStart(time.Now()))
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
	transport := &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: time.Second}).DialContext}
	api = web.Remote(transport, "http://"+reachable(address), token)
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
