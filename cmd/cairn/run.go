// cairn run: start every connector that has a token.

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/config"
)

// grace is how long running turns may take when the bot is stopped.
const grace = 30 * time.Second

func newRun(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [--health ADDRESS] [--web ADDRESS]",
		Short: "Connect to Discord and Slack, and answer there",
		Long: `Connect to each platform that has a token, and answer there until stopped:

  Discord  DISCORD_TOKEN, or token under [discord]
  Slack    SLACK_BOT_TOKEN and SLACK_APP_TOKEN, or bot_token and app_token under [slack]

The bot restores lost connections and reads the messages it missed. If only a person can fix a
problem, e.g. a wrong token, that connector stops and standard error says why; the other one
continues. When the last one stops, the command exits with 1.

Edits of the settings file apply from the next turn on, without a restart; the log names the
settings that need one. If an edit has a mistake or leaves the file empty, the log says so and
the old settings stay. SIGHUP reloads the file and the key files that it names.

With --health, or health in the settings, it serves /healthz, /readyz and /metrics (for
Prometheus) over HTTP. With --web, or listen under [web], it serves the dashboard and the HTTP
API, even without a platform; that needs a token unless the address is loopback.

On SIGINT or SIGTERM the bot stops reading messages and finishes answers in progress, for at most
30 seconds. A second signal stops it immediately. Either way nothing is lost: the next start
continues.`,
		Example: `  DISCORD_TOKEN=… cairn run
  cairn run --config /etc/cairn/config.toml --data /var/lib/cairn`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd.Context()) },
	}
	a.addHealthFlag(cmd)
	a.addWebFlag(cmd)
	return cmd
}

func (a *app) run(ctx context.Context) (err error) {
	if err := a.load(); err != nil {
		return err
	}
	served, err := a.openWeb()
	if err != nil {
		return err
	}
	defer served.close()
	log := a.logger(a.err, slog.LevelInfo)
	connectors, err := a.openConnectors(log)
	if err != nil {
		return usage(err)
	}
	var known []channel.Connector
	var open []runner
	names := []string{}
	for _, connector := range connectors {
		known, open, names = append(known, connector), append(open, connector), append(names, connector.Name())
	}
	bot, err := a.start(ctx, log, (*config.Settings).Rules, known...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bot.close()) }()
	health, err := bot.startHealth(ctx, connectors)
	if err != nil {
		return err
	}
	defer health.close()
	bot.checkModels(nil)
	bot.watchSettings(true)
	if missing := a.settings.Unrestricted(); len(missing) > 0 {
		log.Warn("commands_unrestricted", "hint", "add them to restricted", "commands", missing)
	}
	log.Info("starting", "version", version(), "connectors", names, "agents", bot.agentNames(), "data", a.settings.DataDir)
	if err := bot.hub.Recover(ctx, func(string) bool { return true }); err != nil {
		return err
	}
	bot.runUpkeep()
	if served != nil {
		open = append(open, bot.newWeb(served, health))
	}
	return serve(ctx, bot.hub, open, grace, log)
}

// agentNames lists the agents, each with its model.
func (b *bot) agentNames() (list []string) {
	agents := b.current.Load().agents
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		list = append(list, fmt.Sprintf("%s (%s)", id, agents[id].Model.Name()))
	}
	return list
}

// serve runs the connectors until ctx ends, and returns its cause; or until the last of them has
// stopped for good, and returns its error. Turns that are running when ctx ends have grace to
// finish.
func serve(ctx context.Context, hub *channel.Hub, connectors []runner, grace time.Duration, log *slog.Logger) error {
	closed := make(chan error, len(connectors))
	for _, connector := range connectors {
		go func() { closed <- connector.Run(ctx, hub) }()
	}
	left := len(connectors)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case err := <-closed:
			left--
			switch {
			case ctx.Err() != nil:
			case left == 0:
				return err
			default:
				log.Error("connector_closed", "error", err)
			}
		}
	}
	log.Info("stopping", "within", grace.String())
	leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	for left > 0 && leave.Err() == nil {
		select {
		case <-closed:
			left--
		case <-leave.Done():
		}
	}
	err := hub.Drain(leave)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("stopped_unfinished", "effect", "the next start continues")
		err = nil
	}
	err = errors.Join(context.Cause(ctx), err, hub.Close())
	for ; left > 0; left-- {
		<-closed
	}
	return err
}
