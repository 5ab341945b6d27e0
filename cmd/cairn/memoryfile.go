// cairn memories export, import: memories in a file.

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"cairn/chat"
	"cairn/memory"
	"cairn/store"
)

func newMemoriesExport(a *app) *cobra.Command {
	var s selection
	format := "jsonl"
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write memories to a file, or to standard output, as JSON Lines or Markdown",
		Long: `Write memories to FILE, which must not exist yet, or to standard output: as JSON Lines, which
import reads, one memory per line in the order they were saved; or as Markdown, for people.`,
		Example: `  cairn memories export memories.jsonl
  cairn memories export --channel garden --state current --format markdown | less`,
		Args: args(0, 1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return a.exportMemories(cmd, s, files, map[string]func(io.Writer) exporter{"jsonl": writeJSONLines, "markdown": writeMarkdown}[format])
		},
	}
	s.filterFlags(cmd, "all")
	cmd.Flags().Func("format", "`FORMAT`: jsonl or markdown (jsonl)", oneOf(&format, []string{"jsonl", "markdown"}))
	return cmd
}

type exporter func(memory.Exported, []chat.Message) error

func (a *app) exportMemories(cmd *cobra.Command, s selection, files []string, write func(io.Writer) exporter) error {
	return a.withFilter(cmd, s, func(db *store.Store, filter memory.Filter) (err error) {
		to := a.out
		if len(files) > 0 {
			file, openErr := os.OpenFile(files[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if errors.Is(openErr, os.ErrExist) {
				return usage(fmt.Errorf("%s already exists: move it, or name another file", files[0]))
			}
			if openErr != nil {
				return fmt.Errorf("write the memories: %w", openErr)
			}
			defer func() {
				err = errors.Join(err, file.Close())
				if err != nil { // half a file would be in the way of the next try
					err = errors.Join(err, os.Remove(files[0]))
				}
			}()
			to = file
		}
		out := bufio.NewWriter(to)
		return errors.Join(memory.In(db).Export(cmd.Context(), filter, write(out)), out.Flush())
	})
}

func writeJSONLines(to io.Writer) exporter {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	return func(e memory.Exported, _ []chat.Message) error { return enc.Encode(e) }
}

// writeMarkdown writes a heading for each channel, and each memory as a list item with its messages
// below. The writer keeps its errors until Flush.
func writeMarkdown(to io.Writer) exporter {
	channel := ""
	before := ""
	return func(e memory.Exported, from []chat.Message) error {
		if e.Conversation != channel {
			channel = e.Conversation
			fmt.Fprintf(to, "%s# %s\n\n", before, plainMarkdown(channel))
			before = "\n"
		}
		fmt.Fprintf(to, "- %s\n", plainMarkdown(e.Memory.String()))
		for _, m := range from {
			fmt.Fprintf(to, "  - %s\n", plainMarkdown(chat.RecordOf(m).String()))
		}
		return nil
	}
}

// markdownMarks escapes the characters that Markdown interprets.
var markdownMarks = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, "#", `\#`, "|", `\|`, "~", `\~`)

// plainMarkdown returns text as one line that Markdown shows unchanged.
func plainMarkdown(text string) string {
	return markdownMarks.Replace(chat.OneLine(text))
}

func newMemoriesImport(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Import exported memories",
		Long: `Import what export wrote as JSON Lines, into this or another data folder. Each line is an
object; content, kind, channel (the full name of a conversation) and said_at are required:
  {"channel":"terminal:garden","kind":"fact","content":"Ada rows","said_at":"2023-05-08T13:56:00Z","speaker":"Ada"}

The full file is checked first. Importing it again is harmless: known memories are skipped. Imported
memories get new numbers, and link to those of their messages that the channel has. It works while
the bot runs.`,
		Example: `  cairn memories import memories.jsonl`,
		Args:    args(1, 1),
		RunE:    func(cmd *cobra.Command, files []string) error { return a.importMemories(cmd, files[0]) },
	}
}

func (a *app) importMemories(cmd *cobra.Command, file string) error {
	lines, err := readLines[memory.Exported](file, a.in)
	if err != nil {
		return err
	}
	var all []memory.Exported
	for _, l := range lines {
		all = append(all, l.value)
	}
	if bad, wrong := errors.AsType[*memory.ImportError](memory.CheckExported(all)); wrong {
		return lines[bad.Index].wrong(bad.Err)
	}
	n, err := a.keepImported(cmd.Context(), all)
	if err != nil {
		return err
	}
	if n.Lost > 0 {
		fmt.Fprintf(a.err, "%s not here\n", counted(n.Lost, "of the messages they came from is", "of the messages they came from are"))
	}
	if n.Out > 0 {
		fmt.Fprintf(a.err, "skipped, because they are about people who opted out: %s\n", counted(n.Out, "memory", "memories"))
	}
	_, err = fmt.Fprintf(a.out, "imported %s; %s there already\n", counted(n.Fresh, "memory", "memories"), counted(n.Known, "was", "were"))
	return err
}

// keepImported has the running bot import memories, or imports them itself.
func (a *app) keepImported(ctx context.Context, all []memory.Exported) (n memory.ImportResult, err error) {
	bot, err := a.findToChange(ctx)
	switch {
	case err != nil:
		return n, err
	case bot != nil:
		return bot.importMemories(ctx, all)
	}
	err = a.withStore(ctx, false, func(db *store.Store) (err error) {
		n, err = memory.In(db).Import(ctx, all)
		return err
	})
	return n, err
}
