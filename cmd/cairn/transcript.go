// cairn transcript: every message of a channel.
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
)

// page is how many messages are read at a time.
const page = 500

// row is a message as it is printed.
type row struct {
	Seq    int64     `json:"seq"`
	ID     string    `json:"id"`
	Role   llm.Role  `json:"role"`
	Author string    `json:"author"`
	Time   time.Time `json:"time"`
	Text   string    `json:"text"`
}

func rowOf(m compactor.Message) row {
	return row{Seq: m.Seq, ID: m.ID, Role: m.Role, Author: m.Author, Time: m.Time.UTC(), Text: m.Text}
}

func (r row) String() string {
	return fmt.Sprintf("#%d  %s  %s: %s", r.Seq, r.Time.Format("2006-01-02 15:04"), cmp.Or(r.Author, string(r.Role)), r.Text)
}

func newTranscript(a *app) *cobra.Command {
	var name string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "transcript [--channel NAME] [--json]",
		Short: "Print every message of a channel",
		Long: `Print every message of a channel, oldest first, as it was said: what was summed up
is here word for word. It reads the database and may run beside the bot.`,
		Example: `  cairn transcript --channel garden | less
  cairn transcript --json | jq -r 'select(.author == "Ada").text'`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.transcript(cmd, name, asJSON) },
	}
	cmd.Flags().StringVar(&name, "channel", defaultChannel, "`NAME` of the channel")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func (a *app) transcript(cmd *cobra.Command, name string, asJSON bool) error {
	return a.look(cmd.Context(), func(store *memory.Store) error {
		conversation, err := find(cmd.Context(), store, name)
		if err != nil {
			return err
		}
		out := bufio.NewWriter(a.out)
		for from := int64(1); ; {
			messages, err := conversation.Transcript(cmd.Context(), from, page)
			if err != nil {
				return err
			}
			for _, m := range messages {
				if err := show(out, rowOf(m), asJSON); err != nil {
					return err
				}
				from = m.Seq + 1
			}
			if len(messages) < page {
				return out.Flush()
			}
		}
	})
}
