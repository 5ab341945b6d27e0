// The web server of a bot: at the address of [web], and at a socket in the data folder for commands of the same user.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"cairn/config"
	"cairn/web"
)

// webSide is the part of the web server that exists before the bot is open.
type webSide struct {
	listener net.Listener // at the address of [web]; nil: there is none
	local    net.Listener // at the socket in the data folder; nil: there is none
	token    string
	events   *web.Events
	chat     *web.Chat

	terminals *web.Terminals
}

// openWeb prepares the web server. local is the terminal of this process, and earlier what that knows: see web.NewTerminals.
func (a *app) openWeb(local web.Local, earlier *web.Attachment) error {
	events := web.NewEvents()
	events.Mask = a.secrets.attr
	side := &webSide{events: events, chat: web.NewChat(events), terminals: web.NewTerminals(events, local, earlier)}
	if address := a.settings.Web.Listen; address != "" {
		token, err := a.settings.WebToken()
		err = cmp.Or(err, config.CheckWeb(address, token))
		if err != nil {
			return usage(err)
		}
		side.token = token
	}
	a.webSide = side
	return nil
}

// listen opens the address of [web], if there is one, and the socket. Without a socket the bot works: other commands wait until it stops.
func (w *webSide) listen(ctx context.Context, s *config.Settings, log *slog.Logger) (err error) {
	if s.Web.Listen != "" {
		w.listener, err = net.Listen("tcp", s.Web.Listen)
		if err != nil {
			return fmt.Errorf("web: %w; is another bot running there? Choose another address with listen under [web], or --web", err)
		}
	}
	w.local, err = listenLocal(ctx, s.DataDir)
	if err != nil {
		log.Warn("socket_failed", "effect", "cairn chat and other commands cannot reach this bot while it runs", "error", err)
	}
	return nil
}

func (w *webSide) close() {
	for _, listener := range []net.Listener{w.listener, w.local} {
		if listener != nil {
			_ = listener.Close()
		}
	}
}

func (b *bot) newWeb(health *health) *web.Server {
	w := b.web
	o := web.Options{
		Hub: b.hub, Store: b.store, Events: w.events, Terminals: w.terminals, Listener: w.listener, Local: w.local, Token: w.token,
		Hosts: b.started.Web.Hosts, Proxies: b.started.Web.ProxyNetworks(), Settings: b.settings,
		Log: b.log, Version: version(), Database: databaseMark(&b.started), Health: health.handler, OpenMetrics: b.started.Health == b.started.Web.Listen,
		MCPWrites: b.started.Web.MCPWrites, Files: b.files, Connectors: &connectorPage{bot: b, health: health}, Tools: b.tools,
		Models: func(ctx context.Context) (web.Offered, error) { return listModels(ctx, b.settings(), b.secrets) },
		Ready:  func(ctx context.Context) (bool, []web.Part) { s := health.ready(ctx); return s.OK, s.Parts },
	}
	if b.started.Web.Debug {
		o.Debug = http.DefaultServeMux
	}
	return web.New(o)
}

// serveBeside runs the web server beside the connectors of the bot.
func (b *bot) serveBeside(server *web.Server) {
	b.tasks.Go(func() {
		if err := server.Run(b.ctx, b.hub); err != nil {
			b.log.Error("web_closed", "error", err)
		}
	})
}

// socketName is the socket in the data folder.
const socketName = "cairn.sock"

// maxSocketPath is how many bytes the path of a socket may have: 107 on Linux, 103 elsewhere.
const maxSocketPath = 103

// socketPath returns the path of the socket in a data folder, relative to the working directory if only that is short enough.
func socketPath(dir string) (string, error) {
	path := filepath.Join(dir, socketName)
	if len(path) <= maxSocketPath {
		return path, nil
	}
	if here, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(here, path); err == nil && len(short) <= maxSocketPath {
			return short, nil
		}
	}
	return "", fmt.Errorf("the path %s has more than %d bytes, which no socket can have: choose a shorter data_dir", path, maxSocketPath)
}

// listenLocal opens the socket in a data folder; nil if another process of the bot has it, which is possible with PostgreSQL only.
// A process that was killed leaves its socket behind.
func listenLocal(ctx context.Context, dir string) (net.Listener, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	path, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	if other, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = other.Close()
		return nil, nil
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err == nil && info.Mode()&fs.ModeSocket == 0:
		return nil, fmt.Errorf("%s is not a socket: move it away", path)
	default: // left behind
		if err := cmp.Or(err, os.Remove(path)); err != nil {
			return nil, err
		}
	}
	private := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { // Linux gives the file the permissions of the socket
		return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
	}}
	listener, err := private.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil { // other systems
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}
