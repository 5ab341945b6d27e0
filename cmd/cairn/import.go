// cairn import: load a channel's earlier messages.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/compactor"
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
		Example: `  cairn import --channel garden garden-2023.jsonl garden-2024.jsonl`,
		Args:    needs(1, math.MaxInt, "name a FILE"),
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
	past, err := readRecords(files)
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

	bar := &progress{total: len(past)}
	if isTerminal(a.err) {
		bar.out = a.err
	}
	imported, err := bot.hub.Import(ctx, conversation, each(past), bar.show)
	bar.clear()
	if errors.Is(err, store.ErrLive) {
		return fmt.Errorf("people have talked in the channel %s, so nothing can be imported there; name another with --channel: %w", name, store.ErrLive)
	}
	if errors.Is(err, store.ErrOtherMessage) {
		return fmt.Errorf("%w; nothing was imported: use other ids, or another channel with --channel", err)
	}
	if err != nil {
		return fmt.Errorf("import into %s (%d of %d messages are imported, and the same command continues from there): %w", name, imported, len(past), err)
	}
	_, err = fmt.Fprintf(a.out, "imported %s into %s; %s known already; %s applied\n", counted(imported, "message", "messages"), name,
		counted(len(past)-imported, "was", "were"), counted(int(connector.applied.Load()), "compaction", "compactions"))
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

// importConnector replaces the terminal connector during an import: it counts applied compactions
// instead of printing them.
type importConnector struct {
	*terminal.Terminal
	applied atomic.Int64
}

func newImportConnector() (*importConnector, error) {
	t, err := terminal.New(terminal.Options{
		In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Channel: defaultChannel, User: "import",
	})
	return &importConnector{Terminal: t}, err
}

// Compaction counts applied compactions.
func (d *importConnector) Compaction(_ string, event compactor.Event) {
	if event.State == compactor.EventApplied {
		d.applied.Add(1)
	}
}

// progress is a progress bar on a terminal.
type progress struct {
	out   io.Writer // nil: no bar
	total int
	last  int // percentage shown last
}

func (p *progress) show(done int) {
	const width = 40
	percent := 100 * done / max(p.total, 1)
	if p.out == nil || percent == p.last {
		return
	}
	p.last = percent
	full := width * percent / 100
	fmt.Fprintf(p.out, "\r[%s%s] %3d %%  %d of %d", strings.Repeat("#", full), strings.Repeat(".", width-full), percent, done, p.total)
}

func (p *progress) clear() {
	if p.out != nil {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
