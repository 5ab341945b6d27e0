// cairn transcript: print every message of a channel.

package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/chat"
	"cairn/compactor"
	"cairn/store"
)

// page is how many messages are read at once.
const page = 500

func newTranscript(a *app) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "transcript [--channel NAME] [--json]",
		Short: "Print every message of a channel",
		Long: `Print every message of a channel verbatim, oldest first, including those that were summarized. A
tool call is one short line. A line marks each compaction, with the tokens used before and after;
with --json it is an object with the key "compacted". It works while the bot runs.`,
		Example: `  cairn transcript --channel garden | less
  cairn transcript --json | jq -r 'select(.author == "Ada").text'`,
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.transcript(cmd, name) },
	}
	cmd.Flags().StringVar(&name, "channel", "", defaultTo)
	a.jsonFlag(cmd, "one JSON object per line")
	return cmd
}

func (a *app) transcript(cmd *cobra.Command, name string) error {
	return a.withConversation(cmd.Context(), name, func(db *store.Store, conversation *store.Conversation) error {
		out := bufio.NewWriter(a.out)
		applied, _, err := db.Compactions(cmd.Context(), store.CompactionFilter{Conversation: conversation.Name(), Applied: true})
		if err != nil {
			return err
		}
		steps := store.StepsOf(applied)
		before := func(seq int64) error { // prints the compactions applied before the message with this seq
			for len(steps) > 0 && steps[0].Next <= seq {
				s := steps[0]
				if err := a.show(out, appliedLine{s.All, s.Time.UTC(), s.BeforeTokens, s.AfterTokens}); err != nil {
					return err
				}
				steps = steps[1:]
			}
			return nil
		}
		for from := int64(1); ; {
			messages, err := conversation.Transcript().Page(cmd.Context(), from, page)
			if err != nil {
				return err
			}
			for _, m := range messages {
				from = m.Seq + 1
				if err := before(m.Seq); err != nil {
					return err
				}
				r := chat.RecordOf(m)
				if r.Empty() && !a.json {
					continue
				}
				if err := a.show(out, r); err != nil {
					return err
				}
			}
			if len(messages) < page {
				return errors.Join(before(math.MaxInt64), out.Flush())
			}
		}
	})
}

// appliedLine is what one step of compaction applied, in the output.
type appliedLine struct {
	Compacted []store.ListedCompaction `json:"compacted"`
	Time      time.Time                `json:"time"`
	Before    int                      `json:"before_tokens"` // 0: not measured
	After     int                      `json:"after_tokens"`
}

func (l appliedLine) String() string {
	tokens := ""
	if l.Before > 0 {
		tokens = fmt.Sprintf(" %d→%d tokens", l.Before, l.After)
	}
	var rows []string
	for _, r := range l.Compacted {
		undone := ""
		if r.State == string(compactor.Undone) {
			undone = ", undone later"
		}
		rows = append(rows, fmt.Sprintf("#%d to #%d, %s (%s %d by %s, %s%s)", r.From, r.To, counted(r.Messages, "message", "messages"), r.Kind, r.ID, r.By, r.Trigger, undone))
	}
	return fmt.Sprintf("--  %s  compacted%s: %s", moment(l.Time), tokens, strings.Join(rows, "; "))
}
