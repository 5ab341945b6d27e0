// cairn mcp: the memories and conversations of a bot, for the models of other programs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/config"
	"cairn/memory"
	"cairn/web"
)

func newMCP(a *app) *cobra.Command {
	var write bool
	cmd := &cobra.Command{
		Use:   "mcp [--write]",
		Short: "Serve memories and conversations to MCP clients",
		Long: `Serve what the bot remembers, and what was said, to a client of the Model Context Protocol
over standard input and output, which carry nothing else; the log goes to standard error. Add it
to a client as the command "cairn mcp", with --config if the settings are elsewhere.

It only reads, and works while the bot runs. With --write clients may save and forget memories,
and have a conversation compacted: while the bot runs, that goes through its [web] address.
The same is served by a running bot at /mcp of that address.`,
		Example: `  cairn mcp
  cairn --config /etc/cairn/config.toml mcp --write`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.mcp(cmd.Context(), write) },
	}
	cmd.Flags().BoolVar(&write, "write", false, "let clients save and forget memories, and compact")
	return cmd
}

func (a *app) mcp(ctx context.Context, write bool) error {
	if err := a.load(); err != nil {
		return err
	}
	log, err := a.logger(a.err, slog.LevelWarn)
	if err != nil {
		return err
	}
	api, err := a.remoteAPI(ctx)
	if err != nil && write { // who only reads has the database
		return err
	}
	if api != nil {
		return a.serveMCP(ctx, api, write)
	}
	if !write {
		return a.look(ctx, func(store *memory.Store) error {
			api, end, err := a.apiOver(ctx, store, log)
			if err != nil {
				return err
			}
			return errors.Join(a.serveMCP(ctx, api, false), end())
		})
	}
	store, err := memory.Open(ctx, memory.Options{Dir: a.settings.DataDir, Log: log})
	if errors.Is(err, memory.ErrInUse) {
		return fmt.Errorf("%w; to change anything while the bot runs, set listen under [web]", err)
	}
	if err != nil {
		return err
	}
	api, end, err := a.apiOver(ctx, store, log)
	if err == nil {
		err = errors.Join(a.serveMCP(ctx, api, true), end())
	}
	return errors.Join(err, store.Close())
}

func (a *app) serveMCP(ctx context.Context, api web.API, write bool) error {
	transport := &sdk.IOTransport{Reader: io.NopCloser(a.in), Writer: openWriter{a.out}}
	err := web.NewMCP(api, write, version()).Run(ctx, transport)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// openWriter is a writer that is not closed.
type openWriter struct{ io.Writer }

func (openWriter) Close() error { return nil }

// remoteAPI is that of the running bot, if it has a [web] address and answers there; else nil. Its
// error says why a bot that answers cannot be asked.
func (a *app) remoteAPI(ctx context.Context) (web.API, error) {
	address := a.settings.Web.Listen
	if address == "" {
		return nil, nil
	}
	token, err := a.settings.WebToken()
	if err != nil {
		return nil, usage(err)
	}
	host, port, _ := net.SplitHostPort(address)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	client := &http.Client{Transport: &http.Transport{}} // no proxy stands between
	api := web.Remote(client, "http://"+net.JoinHostPort(host, port), token)
	limited, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var refused *web.Problem
	_, err = api(limited, http.MethodGet, "/api/usage", nil, nil)
	switch {
	case errors.As(err, &refused) && refused.Status == http.StatusUnauthorized:
		return nil, usage(fmt.Errorf("the bot at %s refuses the token: set CAIRN_WEB_TOKEN, or token under [web], to the one the bot has", address))
	case err != nil && refused == nil:
		return nil, nil
	}
	return api, nil
}

// apiOver is the API of a process without connectors; end releases what it stands on.
func (a *app) apiOver(ctx context.Context, store *memory.Store, log *slog.Logger) (api web.API, end func() error, err error) {
	known, err := store.Models(ctx)
	if err != nil {
		return nil, nil, err
	}
	b := &bot{log: log, models: newModelSet(log)} // it does not run: its agents are looked at
	b.models.notebook.Open(known, nil)
	agents, err := b.agents(&a.settings)
	if err != nil {
		return nil, nil, err
	}
	agentFor := func(conversation string) channel.Agent { return agents[a.settings.AgentFor(conversation)] }
	used, err := store.Usage(ctx, channel.MonthStart(time.Now()))
	if err != nil {
		return nil, nil, err
	}
	hub := channel.New(channel.Options{Store: store, Agent: agentFor, Rules: a.settings.Rules(), Log: log, Used: used})
	events := web.NewEvents()
	server := web.New(web.Options{
		Hub: hub, Store: store, Settings: func() *config.Settings { return &a.settings }, Agent: agentFor, Events: events, Log: log, Version: version(),
	})
	return server.API(), func() error { events.Close(); return hub.Close() }, nil
}
