// cairn health: query the health of a running bot.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"cairn/config"
)

func newHealth(a *app) *cobra.Command {
	var ready bool
	cmd := &cobra.Command{
		Use:   "health [--ready] [--health ADDRESS]",
		Short: "Check the health of the running bot",
		Long: `Ask the running bot over HTTP, at its health ADDRESS (or its [web] address), whether it is alive;
with --ready, whether it would answer a message now: its connectors are connected, the database can be
written, and the model answered recently. Exit code 1: it is not, and standard output says why, or
nothing answers there.`,
		Example: `  cairn health
  cairn health --ready`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.load(); err != nil {
				return err
			}
			return a.askHealth(cmd.Context(), ready)
		},
	}
	a.addHealthFlag(cmd)
	cmd.Flags().BoolVar(&ready, "ready", false, "check whether it would answer, not only whether it is alive")
	return cmd
}

// reachable returns the address at which this machine reaches a server that listens on address.
func reachable(address string) string {
	host, port, _ := net.SplitHostPort(address)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

func (a *app) askHealth(ctx context.Context, ready bool) error {
	address := cmp.Or(a.settings.Health, a.settings.Web.Listen)
	if address == "" {
		return usage(errors.New("no address is known: set health, or listen under [web], or pass --health"))
	}
	if err := config.CheckHealth(address); err != nil {
		return usage(err)
	}
	path := "/healthz"
	if ready {
		path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(ctx, 2*probeTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachable(address)+path, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{}} // no proxy
	defer client.CloseIdleConnections()
	resp, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("nothing answers at %s: is the bot running, with --health or --web at this address?", address)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err == nil {
		_, err = fmt.Fprintln(a.out, strings.TrimSpace(string(text)))
	}
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New("the bot is not healthy")
	}
	return err
}
