// cairn chat: chat in this terminal, through a pipe, or as JSON Lines.

package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/config"
	"cairn/terminal"
)

// defaultChannel is the channel that chat uses if none is named.
const defaultChannel = "general"

func newChat(a *app) *cobra.Command {
	o := terminal.Options{}
	cmd := &cobra.Command{
		Use:   "chat [--channel NAME] [--user NAME] [--json] [--web ADDRESS]",
		Short: "Chat with the bot",
		Long: `Chat with the bot in one of the terminal's channels. The conversation continues where it
stopped.

At a terminal, / shows the commands; Enter completes them. Alt-Enter starts a new line, the
arrow keys and Ctrl-R search the history, Ctrl-C stops an answer, Ctrl-D quits.

Unknown commands are rejected. //word sends the text /word, and /quit quits.

Through a pipe, each line is a message, which is answered before the next one is read. Answers
go to standard output, everything else to standard error.

With --json, each line of input is an object, of which only text is required:
  {"channel":"general","user":"Ada","text":"hello","id":"1","time":"2026-01-31T15:04:05Z","mention":true,"dm":false}
Each line of output is an object of type accepted, reply, compaction, memory, usage, task,
notice or error. Channels run in parallel. A message with a known id is not processed twice.

Edits of the settings file apply from the next turn on.

At the end of the input, the bot finishes its work and exits with 0.`,
		Example: `  cairn chat --channel garden --user Ada
  printf 'I prefer tea.\nWhat do I prefer?\n' | cairn chat
  echo '{"text":"hello","id":"42"}' | cairn chat --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.chat(cmd, o) },
	}
	cmd.Flags().StringVar(&o.Channel, "channel", defaultChannel, "`NAME` of the channel")
	cmd.Flags().StringVar(&o.User, "user", cmp.Or(os.Getenv("USER"), "you"), "`NAME` of the person who talks")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "read and write JSON Lines")
	a.addWebFlag(cmd)
	return cmd
}

func (a *app) chat(cmd *cobra.Command, o terminal.Options) (err error) {
	if err := a.load(); err != nil {
		return err
	}
	if _, err := terminalChannel(o.Channel); err != nil { // else `cairn context` with this name would show another one
		return err
	}
	served, err := a.openWeb()
	if err != nil {
		return err
	}
	defer served.close()
	o.In, o.Out, o.Err = a.in, a.out, a.err
	o.History = filepath.Join(a.settings.DataDir, "history")
	connector, err := terminal.New(o)
	if err != nil {
		return usage(err)
	}
	logTo, level := a.err, slog.LevelWarn
	if isTerminal(a.err) {
		logTo = connector.Notes() // prints around the line that is being typed
		if isTerminal(a.in) && isTerminal(a.out) {
			level = slog.LevelError // the person reads a sentence about what failed
		}
	}
	log := a.logger(logTo, level)
	rules := func(s *config.Settings) channel.Rules {
		rules := s.Rules()
		rules.TurnsPerMinute = 0 // whoever can start the program needs no limit, and piped lines arrive fast
		return rules
	}
	bot, err := a.start(cmd.Context(), log, rules, connector)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bot.close()) }()
	if isTerminal(a.err) {
		bot.checkModels(func(line string) { fmt.Fprintln(connector.Notes(), terminal.Printable(a.secrets.mask(line))) })
	} else {
		bot.checkModels(nil)
	}
	bot.watchSettings(!isTerminal(a.in)) // closing a terminal sends SIGHUP, which must end the program
	bot.runUpkeep()
	if served != nil {
		bot.serveBeside(served, bot.newHealth(cmd.Context(), nil))
	}
	return connector.Run(cmd.Context(), bot.hub, log)
}
