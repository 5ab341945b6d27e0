// cairn import: load a channel's earlier messages; files of JSON Lines.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/config"
	"cairn/connector/terminal"
	"cairn/store"
	"cairn/web"
)

func newImport(a *app) *cobra.Command {
	name := ""
	format := "jsonl"
	cmd := &cobra.Command{
		Use:   "import [--channel NAME] [--format jsonl] FILE…",
		Short: "Import recorded messages into a channel",
		Long: `Import messages into a channel that is empty or has only imported messages. The bot summarizes
and searches them like any others, but does not answer them. All files go into one channel, in
the order given.

Each line of a file is a JSON object, oldest first; unknown keys are ignored:
  {"id":"D1:1","time":"2023-05-08T13:56:00Z","author":"Ada","text":"Hello!",
   "attachments":[{"kind":"image","caption":"a dog in the snow"}]}

All files are checked first. Then all messages are stored, and can be searched from then on;
summaries and memories of them follow. If the import is stopped or killed, run the same command
again or start the bot to continue. Importing a file again is harmless: known messages are skipped,
including deleted ones. It works while the bot runs, which then stores and summarizes the messages,
and goes on with what it has if this command is stopped.`,
		Example: `  cairn import --channel garden garden-2023.jsonl garden-2024.jsonl
  zcat garden.jsonl.gz | cairn import --channel garden -`,
		Args: args(1, -1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return a.importFiles(cmd.Context(), name, files)
		},
	}
	cmd.Flags().StringVar(&name, "channel", defaultChannel, "`NAME` of the channel")
	cmd.Flags().Func("format", "`FORMAT` of the files: jsonl", oneOf(&format, []string{"jsonl"}))
	return cmd
}

func (a *app) importFiles(ctx context.Context, name string, files []string) (err error) {
	conversation, err := terminalChannel(name)
	if err != nil {
		return err
	}
	past, err := a.readRecords(files)
	if err != nil {
		return err
	}
	progress := &importProgress{progress: newProgress(a.err)}
	imported := 0
	bot, err := a.findToChange(ctx)
	switch {
	case err != nil:
		return err
	case bot != nil:
		progress.goesOn = true
		imported, err = bot.importMessages(ctx, conversation, past, progress.show)
	default:
		imported, err = a.importHere(ctx, conversation, past, progress.show)
	}
	progress.done()
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(a.err, wrapped(a.err, "cairn: "+progress.stopped(name)))
		return ctx.Err()
	case errors.As(err, new(notStarted)), errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrReplaced):
		return err
	case errors.Is(err, store.ErrLive):
		return fmt.Errorf("people have talked in the channel %s: name another with --channel: %w", name, store.ErrLive)
	case errors.Is(err, store.ErrOtherMessage):
		return fmt.Errorf("%w; nothing was imported: use other ids, or another channel with --channel", err)
	case err != nil:
		return fmt.Errorf("import into %s (%d of %d messages are imported; the same command continues): %w", name, imported, len(past), err)
	}
	_, err = fmt.Fprintf(a.out, "imported %s into %s; %s already known\n", counted(imported, "message", "messages"), name,
		counted(len(past)-imported, "was", "were"))
	return err
}

// notStarted is the error of a bot that could not start.
type notStarted struct{ error }

func (e notStarted) Unwrap() error { return e.error }

// importHere imports by a bot of this process.
func (a *app) importHere(ctx context.Context, conversation string, past []channel.Inbound, progress func(channel.ImportProgress)) (imported int, err error) {
	connector, err := terminal.New(nobody())
	if err != nil {
		return 0, err
	}
	watched, bot, err := a.start(ctx, a.logger(a.err, slog.LevelWarn), (*config.Settings).Rules, connector)
	if err != nil {
		return 0, notStarted{err}
	}
	defer func() { err = errors.Join(err, bot.close()) }()
	bot.keepRoom()
	imported, err = bot.hub.Import(watched, conversation, past, progress)
	if watched.Err() != nil { // the database is lost
		err = context.Cause(watched)
	}
	return imported, err
}

// nobody are the options of a terminal connector without a person.
func nobody() terminal.Options {
	return terminal.Options{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Channel: defaultChannel, User: "import"}
}

// progress returns a function that shows in one line of a terminal how many are done, and one that removes the line.
func (c *console) progress(total int) (show func(n int), done func()) {
	if !isTerminal(c.err) {
		return func(int) {}, func() {}
	}
	last := -1
	show = func(n int) {
		if percent := 100 * n / max(total, 1); percent != last {
			last = percent
			fmt.Fprintf(c.err, "\r%3d %%  %d of %d", percent, n, total)
		}
	}
	return show, func() { fmt.Fprint(c.err, "\r\x1b[K") }
}

// maxRecord is the limit for one line, in bytes.
const maxRecord = 16 << 20

// line is a JSON object of a file, with its position.
type line[T any] struct {
	value  T
	file   string
	number int
}

func (l line[T]) wrong(err error) error { return fmt.Errorf("%s:%d: %w", l.file, l.number, err) }

// readLines returns the objects of a file, or of standard input if path is "-". An error names the file.
func readLines[T any](path string, stdin io.Reader) (all []line[T], err error) {
	lines := bufio.NewScanner(stdin)
	if path == "-" {
		path = "standard input"
	} else {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		lines = bufio.NewScanner(file)
	}
	lines.Buffer(nil, maxRecord)
	l := line[T]{file: path, number: 1}
	for ; lines.Scan(); l.number++ {
		text := lines.Bytes()
		if l.number == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff")) // a byte order mark that some editors write
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		l.value = *new(T)
		if err := parseLine(text, &l.value); err != nil {
			return nil, l.wrong(err)
		}
		all = append(all, l)
	}
	if err := lines.Err(); err != nil {
		return nil, l.wrong(err)
	}
	return all, nil
}

// parseLine decodes a line that contains one JSON object. Unknown keys are ignored.
func parseLine(line []byte, into any) error {
	err := json.Unmarshal(line, into)
	_, broken := errors.AsType[*json.SyntaxError](err)
	wrong, unfit := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil:
		return nil
	case broken:
		return errors.New(`this is not a JSON object: write one on each line, as {"key":"value"}`)
	case unfit && wrong.Field != "":
		return fmt.Errorf("%q must not be a JSON %s", wrong.Field, wrong.Value)
	case unfit:
		return errors.New("a line must be one JSON object")
	}
	return errors.New(`a time must look like "2023-05-08T13:56:00Z"`) // no other type decodes itself
}

// readRecords returns the messages of all files, in order. A message may occur more than once.
func (c *console) readRecords(files []string) (all []channel.Inbound, err error) {
	first := map[string]line[web.Recorded]{} // by id
	var newest line[web.Recorded]
	for _, file := range files {
		lines, err := readLines[web.Recorded](file, c.in)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			if err := l.value.Check(); err != nil {
				return nil, l.wrong(err)
			}
			earlier, again := first[l.value.ID]
			switch {
			case !again && l.value.Time.Before(newest.value.Time):
				return nil, l.wrong(fmt.Errorf(`"time" is before that of %s:%d: sort the messages, oldest first`, newest.file, newest.number))
			case !again:
				first[l.value.ID] = l
				newest = l
			case !earlier.value.Same(l.value):
				return nil, l.wrong(fmt.Errorf("the id %q names another message in %s:%d", l.value.ID, earlier.file, earlier.number))
			}
			all = append(all, l.value.Message())
		}
	}
	return all, nil
}
