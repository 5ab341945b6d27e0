// cairn import: load a channel's earlier messages.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/config"
	"cairn/store"
	"cairn/terminal"
)

func newImport(a *app) *cobra.Command {
	var name, format string
	cmd := &cobra.Command{
		Use:   "import [--channel NAME] [--format jsonl] FILE…",
		Short: "Import recorded messages into a channel",
		Long: `Import messages into a channel that is empty or has only imported messages. The bot summarizes
and searches them like any others, but does not answer them. All files go into one channel, in
the order given.

Each line of a file is a JSON object, oldest first; unknown keys are ignored:
  {"id":"D1:1","time":"2023-05-08T13:56:00Z","author":"Ada","text":"Hello!",
   "attachments":[{"kind":"image","caption":"a dog in the snow"}]}

All files are checked first. Importing a file again is harmless: known messages are skipped,
including deleted ones. Channels in which people have talked are refused, and so is the data
folder of a running bot.`,
		Example: `  cairn import --channel garden garden-2023.jsonl garden-2024.jsonl
  zcat garden.jsonl.gz | cairn import --channel garden -`,
		Args: args(1, -1),
		RunE: func(cmd *cobra.Command, files []string) error {
			if format != "jsonl" {
				return wrongUse(cmd, fmt.Errorf("--format %q: must be jsonl", format))
			}
			return a.importFiles(cmd.Context(), name, files)
		},
	}
	cmd.Flags().StringVar(&name, "channel", defaultChannel, "`NAME` of the channel")
	cmd.Flags().StringVar(&format, "format", "jsonl", "`FORMAT` of the files: jsonl")
	return cmd
}

func (a *app) importFiles(ctx context.Context, name string, files []string) (err error) {
	if err := a.load(); err != nil {
		return err
	}
	conversation, err := terminalChannel(name)
	if err != nil {
		return err
	}
	past, err := a.readRecords(files)
	if err != nil {
		return err
	}
	log := a.logger(a.err, slog.LevelWarn)
	connector, err := newImportConnector()
	if err != nil {
		return err
	}
	bot, err := a.start(ctx, log, (*config.Settings).Rules, connector)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bot.close()) }()

	show, done := a.progress(len(past))
	imported, err := bot.hub.Import(ctx, conversation, each(past), show)
	done()
	if errors.Is(err, store.ErrLive) {
		return fmt.Errorf("people have talked in the channel %s, so nothing can be imported there; name another with --channel: %w", name, store.ErrLive)
	}
	if errors.Is(err, store.ErrOtherMessage) {
		return fmt.Errorf("%w; nothing was imported: use other ids, or another channel with --channel", err)
	}
	if err != nil {
		return fmt.Errorf("import into %s (%d of %d messages are imported, and the same command continues from there): %w", name, imported, len(past), err)
	}
	_, err = fmt.Fprintf(a.out, "imported %s into %s; %s known already\n", counted(imported, "message", "messages"), name,
		counted(len(past)-imported, "was", "were"))
	return err
}

// each yields messages without an error.
func each(past []channel.Inbound) iter.Seq2[channel.Inbound, error] {
	return func(yield func(channel.Inbound, error) bool) {
		for _, m := range past {
			if !yield(m, nil) {
				return
			}
		}
	}
}

// progress returns a function that shows on a terminal how many of total are done, in one line, and
// one that removes the line.
func (a *app) progress(total int) (show func(n int), done func()) {
	if !isTerminal(a.err) {
		return func(int) {}, func() {}
	}
	last := -1
	show = func(n int) {
		if percent := 100 * n / max(total, 1); percent != last {
			last = percent
			fmt.Fprintf(a.err, "\r%3d %%  %d of %d", percent, n, total)
		}
	}
	return show, func() { fmt.Fprint(a.err, "\r\x1b[K") }
}

// newImportConnector returns a terminal connector without a person.
func newImportConnector() (*terminal.Terminal, error) {
	return terminal.New(terminal.Options{
		In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Channel: defaultChannel, User: "import",
	})
}
