// The command line: what all commands share.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	_ "time/tzdata" // small images have none

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cairn/compactor"
	"cairn/config"
	"cairn/connector/terminal"
	"cairn/memory"
	"cairn/store"
)

// app is one run of the program: its console, its flags and, once loaded, its settings.
type app struct {
	console
	flags
	help helpWriter

	settings config.Settings
	secrets  redactor // secrets to mask in logs and errors
	webSide  *webSide // nil: no web server, as of an import

	databaseEvery time.Duration // how often a bot checks its database file; 0: every minute
	patience      time.Duration // see channel.Options
	warned        sync.Once     // that a bot could not be asked
	answerWithin  time.Duration // how long a bot may take for an answer; 0: answerWithin
	terminal      atomic.Pointer[terminal.Terminal]
}

// interrupted reports whether a SIGINT stopped an answer at the terminal, so that the program goes on.
func (a *app) interrupted() bool {
	at := a.terminal.Load()
	return at != nil && at.Interrupt()
}

// helpWriter writes help to standard output, and keeps the error, which cobra only prints.
type helpWriter struct {
	io.Writer
	err error
}

// Write writes nothing after an error. cobra passes full paragraphs.
func (w *helpWriter) Write(text []byte) (int, error) {
	printed := string(text)
	if isTerminal(w.Writer) {
		printed = wrapped(w.Writer, terminal.Fill(printed))
	}
	if w.err == nil {
		_, w.err = io.WriteString(w.Writer, printed)
	}
	return len(text), nil
}

func newRoot(a *app) *cobra.Command {
	configured := []*cobra.Command{
		newChat(a), newAsk(a), newAttach(a), newImport(a), newSimulate(a), newChannels(a), newContext(a), newUsage(a), newTranscript(a), newCompactions(a),
		newMemories(a), newRecall(a), newBackup(a), newRestore(a), newCopy(a), newUpgrade(a), newPurge(a), newModels(a), newRun(a), newHealth(a), newMCP(a),
	}
	for _, cmd := range configured {
		cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
			if cmd.HasSubCommands() { // it prints its help
				return nil
			}
			return a.load()
		}
	}
	root := group("cairn", "A chat bot whose conversations never end",
		append(configured, newDoctor(a), newSetup(a), group("config", "Check the settings", newConfigCheck(a)), newVersion(a))...)
	root.Long = `Cairn is a chat bot whose conversations never end. When a conversation fills the
model's context window, it summarizes the oldest part in the background and saves
memories. The database keeps every message.

It uses OpenAI, Anthropic, or any server with one of their APIs. Set OPENAI_API_KEY or
ANTHROPIC_API_KEY; for another server OPENAI_BASE_URL and OPENAI_MODEL, or [llm] in
config.local.toml. Without a model it stores, summarizes and quotes messages.

` + exitHelp
	root.Example = `  cairn setup                                 set up a model and a platform
  cairn chat                                  chat in this terminal
  echo "What do I drink?" | cairn chat        one question, the answer on standard output
  cairn memories search tea                   memories about tea
  cairn recall "when did we choose the hotel?"  messages and memories about it
  cairn context                               how full the model's window is`
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".NamePadding }}", ".NamePadding }} ")) // else the longest name ends no column
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.SetOut(&a.help)
	root.SetErr(a.err)
	root.Version = version()
	root.SetVersionTemplate("{{built}}\n")
	root.SetHelpCommand(&cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command", ValidArgsFunction: commandNames,
		RunE: func(_ *cobra.Command, names []string) error {
			cmd, rest, err := root.Find(names)
			if err != nil || len(rest) > 0 {
				return cmp.Or(err, noSuchCommand(cmd, rest))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	})
	root.SetFlagErrorFunc(wrongUse)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.InitDefaultCompletionCmd()
	a.flags.addAll(root)
	a.completeAll(root)
	return root
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return wrongUse(cmd, fmt.Errorf("there is no command %q%s", args[0], compactor.DidYouMean(args[0], names)))
}

// group returns a command that only has subcommands. Those take no arguments unless they say otherwise.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	for _, c := range commands {
		if c.Args == nil {
			c.Args = args(0, 0)
		}
	}
	cmd := &cobra.Command{
		Use: use, Short: short,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// load reads the settings; flags take precedence.
func (a *app) load() error {
	s, err := config.Load(a.config)
	a.secrets.learn(s.Secrets()...)
	if err != nil {
		return usage(err)
	}
	a.settings = a.flags.over(s)
	if err := config.CheckHealth(a.settings.Health); err != nil { // it may come from a flag
		return usage(err)
	}
	if zone, err := time.LoadLocation(s.TimeZone); err == nil && time.Local.String() != s.TimeZone {
		time.Local = zone
	}
	return nil
}

// withSharedStore opens the store for reading, possibly beside a running bot, while do runs.
func (a *app) withSharedStore(ctx context.Context, do func(*store.Store) error) error {
	return a.withStore(ctx, true, do)
}

// withStore opens the store, for this process alone unless shared is true, while do runs.
func (a *app) withStore(ctx context.Context, shared bool, do func(*store.Store) error) error {
	where, err := storeOptions(&a.settings)
	if err != nil {
		return err
	}
	where.Shared = shared
	return a.withStoreAt(ctx, where, do)
}

func (a *app) withStoreAt(ctx context.Context, where store.Options, do func(*store.Store) error) (err error) {
	where.Log = a.logger(a.err, slog.LevelWarn)
	db, err := store.Open(ctx, where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(db)
}

// withPast is withSharedStore with the flags --since and --channel; the channel must exist if it is named.
func (a *app) withPast(cmd *cobra.Command, since, channel string, do func(db *store.Store, since time.Time, conversation string) error) error {
	from, err := timeOf(cmd, "since", since, memory.Ago)
	if err != nil {
		return err
	}
	return a.withSharedStore(cmd.Context(), func(db *store.Store) error {
		name := ""
		if channel != "" {
			conversation, err := find(cmd.Context(), db, channel)
			if err != nil {
				return err
			}
			name = conversation.Name()
		}
		return do(db, from, name)
	})
}

// withConversation is withSharedStore with a conversation of the store, see find.
func (a *app) withConversation(ctx context.Context, name string, do func(*store.Store, *store.Conversation) error) error {
	return a.withSharedStore(ctx, func(db *store.Store) error {
		conversation, err := find(ctx, db, name)
		if err != nil {
			return err
		}
		return do(db, conversation)
	})
}

// logger returns a logger that writes to w: in colour on a terminal, else as JSON. The level is
// fallback unless a flag sets it. Secrets are masked.
func (a *app) logger(w io.Writer, fallback slog.Level) *slog.Logger {
	level := cmp.Or(a.logLevel, &fallback)
	var out slog.Handler = slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: a.secrets.attr})
	if isTerminal(a.err) {
		out = tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05", ReplaceAttr: a.secrets.attr, NoColor: os.Getenv("NO_COLOR") != ""})
	}
	if a.webSide != nil {
		out = a.webSide.events.Logged(out)
	}
	return slog.New(out)
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
