// The HTTP API and the dashboard: where they listen, and where their data come from.

package main

import (
	"context"
	"net"
	"net/http"
	_ "net/http/pprof" // registers /debug/pprof/ in http.DefaultServeMux

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/config"
	"cairn/web"
)

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

// openWeb prepares the web server at the address in the settings; nil without an address.
func (a *app) openWeb() (*webSide, error) {
	address := a.settings.Web.Listen
	if address == "" {
		return nil, nil
	}
	token, err := a.settings.WebToken()
	if err == nil {
		err = config.CheckWeb(address, token)
	}
	if err != nil {
		return nil, usage(err)
	}
	events := web.NewEvents()
	a.webSide = &webSide{token: token, events: events, chat: web.NewChat(events)}
	return a.webSide, nil
}

// close stops listening; it is for a server that was never started.
func (w *webSide) close() {
	if w != nil && w.listener != nil {
		_ = w.listener.Close()
	}
}

// newWeb builds the web server of a bot.
func (b *bot) newWeb(w *webSide, health *health) *web.Server {
	o := web.Options{
		Hub: b.hub, Store: b.store, Events: w.events, Listener: w.listener, Token: w.token, Hosts: b.app.settings.Web.Hosts,
		Settings: b.settings,
		Log:      b.log, Version: version(), Health: health.handler(), OpenMetrics: b.app.settings.Health == b.app.settings.Web.Listen,
		MCPWrites: b.app.settings.Web.MCPWrites,
		Ready:     func(ctx context.Context) (bool, []web.Part) { s := health.ready(ctx); return s.OK, s.Parts },
	}
	if b.app.settings.Web.Debug {
		o.Debug = http.DefaultServeMux
	}
	return web.New(o)
}

// serveBeside serves until the bot is closed.
func (b *bot) serveBeside(w *webSide, health *health) {
	server := b.newWeb(w, health)
	b.tasks.Go(func() {
		if err := server.Run(b.ctx, b.hub); err != nil {
			b.log.Error("web_closed", "error", err)
		}
	})
}

// runner is what `cairn run` runs: a connector to a platform, or the web server.
type runner interface {
	Name() string
	Run(ctx context.Context, hub *channel.Hub) error
}

var _ runner = (*web.Server)(nil)
