// A bot that another process runs, as commands reach it: through the socket in its data folder, or at the address of [web].

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"cairn/config"
	"cairn/web"
)

// remoteBot is a bot that another process runs.
type remoteBot struct {
	transport http.RoundTripper
	base      string // of URLs
	token     string // "": none is needed
	at        string // where it listens, for errors
}

// api returns its HTTP API.
func (r *remoteBot) api() web.API { return web.Remote(r.transport, r.base, r.token) }

// listening returns the bot that listens at the address of [web]; nil: none answers. An error says why one that answers cannot be used.
func listening(ctx context.Context, s *config.Settings) (*remoteBot, error) {
	token, err := s.WebToken()
	if err != nil {
		return nil, usage(err)
	}
	address := s.Web.Listen
	bot := &remoteBot{transport: freshConnections("tcp", reachable(address)), base: "http://" + reachable(address), token: token, at: address}
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var refused *web.Problem
	_, err = bot.api()(limited, http.MethodGet, "/api/usage", nil, nil)
	switch {
	case errors.As(err, &refused) && refused.Status == http.StatusUnauthorized:
		return nil, usage(fmt.Errorf("the bot at %s rejects the token: set CAIRN_WEB_TOKEN, or token under [web]", address))
	case err != nil && refused == nil:
		return nil, ctx.Err()
	}
	return bot, nil
}

// atSocket returns the bot at the socket of a data folder; nil: none listens there.
func atSocket(ctx context.Context, dir string) (*remoteBot, error) {
	path, err := socketPath(dir)
	if err != nil { // the bot has no socket either
		return nil, nil
	}
	transport := freshConnections("unix", path)
	conn, err := transport.DialContext(ctx, "", "")
	switch {
	case err == nil:
		return &remoteBot{transport: transport, base: "http://localhost", at: path}, conn.Close()
	case errors.Is(err, syscall.ENOTDIR):
		return nil, usage(fmt.Errorf("%s is no folder: data_dir and --data name one", dir))
	case errors.Is(err, fs.ErrPermission) && errors.Is(lookAt(path), fs.ErrPermission):
		return nil, fmt.Errorf("the data folder %s belongs to another user: run this as that user: %w", dir, fs.ErrPermission)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%s belongs to a bot of another user: run this as that user: %w", path, fs.ErrPermission)
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED): // refused: its bot was killed
		return nil, nil
	}
	return nil, fmt.Errorf("reach the bot: %w", err)
}

// lookAt returns why a path cannot be looked at.
func lookAt(path string) error {
	_, err := os.Lstat(path)
	return err
}

const dialTimeout = time.Second

// freshConnections uses no proxy and no connection twice, so that a change is never sent twice.
func freshConnections(network, address string) *http.Transport {
	dialer := net.Dialer{Timeout: dialTimeout}
	return &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, address)
	}}
}
