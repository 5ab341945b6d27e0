// cairn transcript: print every message of a channel.
package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"cairn/chat"
	"cairn/llm"
	"cairn/store"
)

// page is how many messages are read at once.
const page = 500

// row is a message in the output.
type row struct {
	chat.Record

	attachments []string // descriptions of attachments, only in the output for people
}

func rowOf(m chat.Message) row {
	r := row{Record: chat.RecordOf(m)}
	for _, a := range m.Attachments {
		r.attachments = append(r.attachments, a.Words())
	}
	return r
}

// isEmpty reports whether there is nothing to show: some models answer with empty text after a tool
// call.
func (r row) isEmpty() bool {
	return r.Role == llm.RoleAssistant && strings.TrimSpace(r.Text) == "" && len(r.Calls) == 0
}

func (r row) String() string {
	var said []string
	if r.Text != "" || len(r.Calls)+len(r.attachments) == 0 {
		said = append(said, r.Text)
	}
	said = append(said, r.attachments...)
	for _, call := range r.Calls {
		said = append(said, "→ "+oneLine(call.Name+" "+call.Arguments))
	}
	return fmt.Sprintf("#%d  %s  %s: %s", r.Seq, moment(r.Time), cmp.Or(inOneLine(r.Author), string(r.Role)), indentRest(strings.Join(said, "\n")))
}

// indentRest indents all lines but the first, so that no text can imitate another message.
func indentRest(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) })
	return strings.Join(lines, "\n       ")
}

// inOneLine returns text without line breaks.
func inOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// maxCallShown limits the text of a tool call in the output for people, in characters.
const maxCallShown = 100

// oneLine returns text as one short line.
func oneLine(text string) string {
	runes := []rune(inOneLine(text))
	if len(runes) > maxCallShown {
		return string(runes[:maxCallShown]) + "…"
	}
	return string(runes)
}

func newTranscript(a *app) *cobra.Command {
	var name string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "transcript [--channel NAME] [--json]",
		Short: "Print every message of a channel",
		Long: `Print every message of a channel, oldest first, as it was said: what was summarized
is here word for word, and a tool call is one short line. A line tells where messages
were summarized, and from how many tokens to how many the window came; with --json it is
an object with the key "compacted". It reads the database and may run beside the bot.`,
		Example: `  cairn transcript --channel garden | less
  cairn transcript --json | jq -r 'select(.author == "Ada").text'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.transcript(cmd, name, asJSON) },
	}
	cmd.Flags().StringVar(&name, "channel", "", defaultTo)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func (a *app) transcript(cmd *cobra.Command, name string, asJSON bool) error {
	return a.withConversation(cmd.Context(), name, func(_ *store.Store, conversation *store.Conversation) error {
		out := bufio.NewWriter(a.out)
		landings, err := conversation.Compactions().Applied(cmd.Context())
		if err != nil {
			return err
		}
		before := func(seq int64) error { // prints the compactions applied before the message with this seq
			for len(landings) > 0 && landings[0].Next <= seq {
				if err := a.show(out, appliedOf(landings[0]), asJSON); err != nil {
					return err
				}
				landings = landings[1:]
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
				r := rowOf(m)
				if r.isEmpty() && !asJSON {
					continue
				}
				if err := a.show(out, r, asJSON); err != nil {
					return err
				}
			}
			if len(messages) < page {
				return errors.Join(before(math.MaxInt64), out.Flush())
			}
		}
	})
}
