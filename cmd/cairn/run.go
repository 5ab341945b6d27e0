// cairn run and cairn chat: connect to platforms, or chat in this terminal, through a pipe, or as JSON Lines.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/config"
	"cairn/connector/platform"
	"cairn/connector/terminal"
)

// grace is how long running turns may take when the bot is stopped.
const grace = 30 * time.Second

// thisHost is the value of --drain without a name.
const thisHost = "this host"

func newRun(a *app) *cobra.Command {
	var drain string
	cmd := &cobra.Command{
		Use:   "run [--health ADDRESS] [--web ADDRESS] [--drain[=NAME]]",
		Short: "Connect to Discord and Slack, and answer there",
		Long: `Connect to each platform that has a token, and answer there until stopped:

  Discord  DISCORD_TOKEN, or token under [discord]
  Slack    SLACK_BOT_TOKEN and SLACK_APP_TOKEN, or bot_token and app_token under [slack]

The bot restores lost connections and reads the messages it missed. A connector stops if only a
person can fix its problem, e.g. a wrong token. When the last one stops, the exit code is 1.

Edits of the settings file apply from the next turn on; the log names settings that need a
restart, and mistakes, which change nothing. SIGHUP rereads the file and the files it names.

--health, or health in the settings, serves /healthz, /readyz and /metrics (for Prometheus).
--web, or listen under [web], serves the dashboard and the HTTP API, even without a platform; it
needs a token unless the address is loopback.

On SIGINT or SIGTERM the bot finishes answers in progress, for at most 30 seconds; a second
signal stops it immediately. Either way nothing is lost: the next start continues.

With PostgreSQL several processes may run one bot: see docs/machines.md. They divide the shards of
Discord among themselves, and one of them answers on Slack; the others take over. --drain starts
none, but asks those on this host, on the host NAME, or the one with the NAME that cairn
doctor shows, to hand over and stop.`,
		Example: `  DISCORD_TOKEN=… cairn run
  cairn run --config /etc/cairn/config.toml --data /var/lib/cairn`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if drain != "" {
				return a.drain(cmd.Context(), strings.Replace(drain, thisHost, hostName(), 1))
			}
			return a.run(cmd.Context())
		},
	}
	a.addHealth(cmd)
	a.addWeb(cmd)
	cmd.Flags().StringVar(&drain, "drain", "", "ask the process or the host `NAME` to hand over and stop (default: this host)")
	cmd.Flags().Lookup("drain").NoOptDefVal = thisHost
	return cmd
}

func (a *app) runOnce(ctx context.Context) (err error) {
	if err := a.openWeb(nil, nil); err != nil {
		return err
	}
	log := a.logger(a.err, slog.LevelInfo)
	readers, err := openReaders(&a.settings, log)
	if err != nil {
		return usage(err)
	}
	connectors, err := openConnectors(&a.settings, readers, a.settings.Web.Listen != "", log)
	if err != nil {
		return usage(err)
	}
	var known []channel.Connector
	var open []runner
	names := []string{}
	agents := []string{}
	for _, connector := range connectors {
		known = append(known, connector)
		open = append(open, connector)
		names = append(names, connector.Name())
	}
	ctx, bot, err := a.start(ctx, log, (*config.Settings).Rules, known...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bot.close()) }()
	readers.bot.Store(bot)
	bot.readers = readers
	health, err := bot.startHealth(ctx, connectors)
	if err != nil {
		return err
	}
	bot.checkModels()
	bot.watchSettings(true)
	if missing := config.Unrestricted(&a.settings); len(missing) > 0 {
		log.Warn("commands_unrestricted", "hint", "add them to restricted", "commands", missing)
	}
	for id, agent := range bot.current.Load().agents {
		agents = append(agents, fmt.Sprintf("%s (%s)", id, agent.Model.Name()))
	}
	slices.Sort(agents)
	data := a.settings.DataDir
	if a.settings.Store != "" {
		data = bot.store.Upkeep().Place()
	}
	log.Info("starting", "version", version(), "connectors", names, "agents", agents, "data", data)
	if err := bot.hub.Recover(ctx, func(string) bool { return true }); err != nil {
		return err
	}
	bot.runUpkeep()
	server := bot.newWeb(health)
	if a.settings.Web.Listen != "" {
		open = append(open, server)
	} else {
		bot.serveBeside(server)
	}
	return serve(ctx, bot.hub, open, grace, log, health.noteEnd)
}

// overlap is how long a process that stops still receives what people write, while another one connects.
const overlap = time.Second

// serve runs the connectors until ctx ends, and returns its cause; or until the last of them has
// stopped, and returns its error. Turns that are running when ctx ends have grace to finish. ended is called with one that stops before.
func serve(ctx context.Context, hub *channel.Hub, connectors []runner, grace time.Duration, log *slog.Logger, ended func(connector string, err error)) error {
	type closing struct {
		connector string
		err       error
	}
	closed := make(chan closing, len(connectors))
	connected, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	defer disconnect()
	for _, connector := range connectors {
		go func() { closed <- closing{connector.Name(), runHere(connected, hub, connector, ended)} }()
	}
	left := len(connectors)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case c := <-closed:
			left--
			if left == 0 && ctx.Err() == nil {
				return c.err
			}
			if ctx.Err() == nil {
				log.Error("connector_closed", "connector", c.connector, "error", c.err)
			}
		}
	}
	log.Info("stopping", "within", grace.String())
	leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	handedOver := make(chan error, 1)
	fleet := channel.FleetOf(hub)
	others := fleet.Leave(leave)
	if others {
		time.AfterFunc(overlap, disconnect)
		go func() { handedOver <- fleet.HandOver(leave) }()
	} else {
		disconnect()
	}
	for left > 0 && leave.Err() == nil {
		select {
		case <-closed:
			left--
		case <-leave.Done():
		}
	}
	if !others {
		handedOver <- channel.Settle(leave, hub)
	}
	err := <-handedOver
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

// runHere runs a connector; one of which many processes may run, once this process is one of those that do.
func runHere(ctx context.Context, hub *channel.Hub, connector runner, ended func(connector string, err error)) error {
	if shared, ok := connector.(sharedConnector); ok {
		if err := channel.FleetOf(hub).AwaitConnection(ctx, shared); err != nil {
			return err
		}
	}
	err := connector.Run(ctx, hub)
	if ctx.Err() == nil { // a person has to fix something here; others may be able to connect
		ended(connector.Name(), err)
		channel.FleetOf(hub).Withdraw(ctx, connector.Name())
	}
	return err
}

// sharedConnector may run in several processes, and answers in one of them.
type sharedConnector interface {
	channel.Connector
	channel.Shared
}

const defaultChannel = "general"

func newChat(a *app) *cobra.Command {
	o := terminal.Options{}
	cmd := &cobra.Command{
		Use:   "chat [--channel NAME] [--user NAME] [--plain] [--json [--deltas]] [--web ADDRESS]",
		Short: "Chat with the bot",
		Long: `Chat with the bot in one of the terminal's channels. The conversation continues where it
stopped. Edits of the settings file apply from the next turn on. If a bot runs already, cairn chat
talks to it, beside others; if that ends, it goes on with the next one, or becomes the bot.

At a terminal, / shows the commands; Enter chooses one. @PATH attaches a file, Tab completes its
name. Alt-Enter starts a new line, the arrow keys and Ctrl-R search the history, Ctrl-C stops an
answer, Ctrl-D or /quit quits. //word sends the text /word.

Through a pipe, each line is a message, which is answered before the next one is read; answers go
to standard output. At the end of the input, the bot finishes its work and exits with 0.

With --json, each line of input is an object, of which only text is required:
  {"channel":"general","user":"Ada","text":"hello","id":"1","time":"2026-01-31T15:04:05Z","mention":true,"dm":false}
Each line of output is an object of type accepted, reply, compaction, memory, usage, task,
notice or error, with --deltas also delta. Channels run in parallel. A message with a known id is
not processed twice.`,
		Example: `  cairn chat --channel garden --user Ada
  printf 'I prefer tea.\nWhat do I prefer?\n' | cairn chat
  echo '{"text":"hello","id":"42"}' | cairn chat --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.chat(cmd, o) },
	}
	cmd.Flags().StringVar(&o.Channel, "channel", defaultChannel, "`NAME` of the channel")
	cmd.Flags().StringVar(&o.User, "user", cmp.Or(os.Getenv("USER"), "you"), "`NAME` of the person who talks")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "read and write JSON Lines")
	cmd.Flags().BoolVar(&o.Deltas, "deltas", false, "with --json: write answers while they are made, too")
	cmd.Flags().BoolVar(&o.Plain, "plain", false, "plain lines, for screen readers and simple terminals")
	a.addWeb(cmd)
	return cmd
}

func (a *app) chat(cmd *cobra.Command, o terminal.Options) (err error) {
	if _, err := terminalChannel(o.Channel); err != nil { // else `cairn context` with this name would show another one
		return err
	}
	if o.Deltas && !o.JSON {
		return usage(errors.New("--deltas is for --json"))
	}
	o.Plain = o.Plain || os.Getenv("TERM") == "dumb"
	o.In = a.in
	o.Out = a.out
	o.Err = a.err
	o.History = filepath.Join(a.settings.DataDir, "history")
	if a.settings.Store != "" { // else the database makes the folder
		if err := os.MkdirAll(a.settings.DataDir, 0o700); err != nil {
			return fmt.Errorf("make data folder: %w", err)
		}
	}
	var running atomic.Pointer[bot] // nil: another process runs the bot
	o.Files = func() (platform.Files, error) {
		if b := running.Load(); b != nil {
			return b.files(), nil
		}
		return platform.Files{}, terminal.ErrNoFiles
	}
	connector, err := terminal.New(o)
	if err != nil {
		return usage(err)
	}
	a.terminal.Store(connector)
	logTo := a.err
	level := slog.LevelWarn
	if isTerminal(a.err) {
		logTo = connector.Notes() // prints around the line that is being typed
		if isTerminal(a.in) && isTerminal(a.out) {
			level = slog.LevelError // the person reads a sentence about what failed
		}
	}
	log := a.logger(logTo, level)
	readers, err := openReaders(&a.settings, log)
	if err != nil {
		return usage(err)
	}
	return a.talk(cmd.Context(), connector, log, func(_ context.Context, b *bot) {
		readers.bot.Store(b)
		b.readers = readers
		running.Store(b)
		if isTerminal(a.err) {
			b.say = func(line string) { fmt.Fprintln(connector.Notes(), terminal.Printable(a.secrets.mask(line))) }
		}
		b.checkModels()
		b.watchSettings(!isTerminal(a.in)) // closing a terminal sends SIGHUP, which must end the program
		b.runUpkeep()
	})
}
