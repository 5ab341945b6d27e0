// cairn recall: search messages and memories.
package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cairn/chat"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
)

func newRecall(a *app) *cobra.Command {
	var l recallQuery
	cmd := &cobra.Command{
		Use:   "recall QUESTION…",
		Short: "Search the messages and memories of a channel",
		Long: `Search memories first, then messages, best first, without a model. Write a question or plain
words. Names of people favour what they said, dates what was said then; with --as, "I" and
"my" mean that person. Captions of pictures and contents of text files are searched too. Of a
long message or file it prints the part that matches. It works while the bot runs.

With --json, a memory is an object with the key "memory", a message one with the keys
"message", which has the whole text, and "match", the part that matches.`,
		Example: `  cairn recall "What did Ada say about the hotel?"
  cairn recall hotel --since 2026-05-01 --limit 3 --explain
  cairn recall "when is my flight?" --as Ada --channel discord:81384788765712384/81384788862181376 --json`,
		Args: needsWords("ask a QUESTION"),
		RunE: func(cmd *cobra.Command, words []string) error { return a.recall(cmd, l, strings.Join(words, " ")) },
	}
	f := cmd.Flags()
	f.StringVar(&l.channel, "channel", "", defaultTo)
	f.StringVar(&l.kind, "kind", "", "only memories of this `KIND`, and no messages")
	f.StringVar(&l.since, "since", "", "only what was said since `TIME`: 2026-05-08, 2026-05-08T15:00Z, 36h, 7d, 2w (default: all time)")
	f.StringVar(&l.asker, "as", "", "`NAME` of the person who asks")
	f.IntVar(&l.limit, "limit", 10, "at most `N` memories and as many messages")
	f.BoolVar(&l.explain, "explain", false, "show the parts of each score")
	a.jsonFlag(cmd, "one JSON object per line")
	return cmd
}

// recallQuery has the flags of the command.
type recallQuery struct {
	channel, kind, since, asker string
	limit                       int
	explain                     bool
}

func (a *app) recall(cmd *cobra.Command, l recallQuery, question string) error {
	if l.limit < 1 {
		return wrongUse(cmd, errors.New("--limit must be at least 1"))
	}
	if err := checkChoice(cmd, "kind", l.kind, memory.Kinds); err != nil {
		return err
	}
	since, err := a.since(cmd, l.since)
	if err != nil {
		return err
	}
	return a.withConversation(cmd.Context(), l.channel, func(db *store.Store, conversation *store.Conversation) error {
		if l.asker != "" {
			connector, _, _ := strings.Cut(conversation.Name(), ":")
			if people, err := privacy.In(db).Find(cmd.Context(), connector, l.asker); err != nil {
				return err
			} else if len(people) == 0 {
				fmt.Fprintf(a.err, "no one named %q has spoken, so \"I\" and \"my\" match no one\n", l.asker)
			}
		}
		memories, _, err := memory.Of(conversation).List(cmd.Context(), memory.Filter{Query: question, Asker: l.asker, Kind: l.kind, Since: since, Limit: l.limit})
		if err != nil {
			return err
		}
		var messages []memory.Found
		if l.kind == "" {
			q := memory.Question{Text: question, Asker: l.asker, Since: since, Limit: l.limit}
			if messages, err = memory.Of(conversation).Recall(cmd.Context(), q); err != nil {
				return err
			}
		}
		return a.showRecalled(l, conversation.Name(), memories, messages)
	})
}

func (a *app) showRecalled(l recallQuery, in string, memories []memory.Memory, messages []memory.Found) error {
	if len(memories)+len(messages) == 0 {
		fmt.Fprintln(a.err, "nothing found")
	}
	for i, m := range memories {
		if i == 0 && !a.json {
			fmt.Fprintln(a.out, "Remembered:")
		}
		if err := a.show(a.out, recalledMemory{l.score(m.Score, m.Parts), m, m.Conversation != in}); err != nil {
			return err
		}
	}
	for i, m := range messages {
		if i == 0 && !a.json {
			if len(memories) > 0 {
				fmt.Fprintln(a.out)
			}
			fmt.Fprintln(a.out, "Said:")
		}
		found := recalledMessage{score: l.score(m.Score, m.Parts), Message: chat.RecordOf(m.Message), Match: m.Passage(matchShown)}
		m.Text, m.Attachments = found.Match, nil
		found.line = chat.RecordOf(m.Message).String()
		if err := a.show(a.out, found); err != nil {
			return err
		}
	}
	return nil
}

// score returns the part of a score that is printed.
func (l recallQuery) score(total float64, parts []memory.Part) score {
	return score{Score: total, Parts: parts, shown: l.explain}
}

// score is how well a result matches; higher is better, within one answer.
type score struct {
	Score float64       `json:"score"`
	Parts []memory.Part `json:"parts"`
	shown bool
}

// String returns a line to print below a result; empty unless --explain is set.
func (s score) String() string {
	if !s.shown {
		return ""
	}
	var parts []string
	for _, p := range s.Parts {
		parts = append(parts, fmt.Sprintf("%s %+.2f", p.Name, p.Value))
	}
	return fmt.Sprintf("\n       score %.2f: %s", s.Score, strings.Join(parts, ", "))
}

// recalledMemory is a memory in the results.
type recalledMemory struct {
	score
	Memory memory.Memory `json:"memory"`
	named  bool          // whether its channel is printed
}

func (m recalledMemory) String() string {
	from := ""
	if m.named {
		from = " from " + m.Memory.Conversation
	}
	return m.Memory.String() + from + m.score.String()
}

// matchShown is how many characters of a message or a file are printed.
const matchShown = 600

// recalledMessage is a message in the results, with the part of it that matched.
type recalledMessage struct {
	score
	Message chat.Record `json:"message"`
	Match   string      `json:"match"`
	line    string      // the message with Match in place of its text
}

func (m recalledMessage) String() string { return m.line + m.score.String() }
