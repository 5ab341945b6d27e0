// cairn recall: search messages and memories.

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cairn/chat"
	"cairn/memory"
	"cairn/store"
)

func newRecall(a *app) *cobra.Command {
	var l recallQuery
	cmd := a.withJSON("one JSON object per line", &cobra.Command{
		Use:   "recall [QUESTION…]",
		Short: "Search the messages and memories of a channel",
		Long: `Search memories, then messages, files and captions, without a model, and print the best matches
first. A name in the question favours messages of that person, a date favours messages of that day; with --as,
"I" and "my" mean that person. --by, --since and --until leave out all others; without a question they
list the messages of that person and time. With [embeddings] in the settings, the question is sent to
that server, and the meaning counts, too. While the bot runs, it searches itself, by its settings.

With --json, a memory is an object with the key "memory". A message is an object with the keys
"message", the whole text, and "match", the part that matches.`,
		Example: `  cairn recall "What did Ada say about the hotel?"
  cairn recall hotel --by Ada --since 2026-05-01 --limit 3 --explain
  cairn recall hotel --order oldest --limit 1
  cairn recall --by Ada --since yesterday
  cairn recall "when is my flight?" --as Ada --channel discord:81384788765712384/81384788862181376 --json`,
		Args: args(0, -1),
		RunE: func(cmd *cobra.Command, words []string) error { return a.recall(cmd, l, strings.Join(words, " ")) },
	})
	f := cmd.Flags()
	f.StringVar(&l.channel, "channel", "", defaultTo)
	f.Func("kind", "only memories of this `KIND`, and no messages", oneOf(&l.kind, memory.Kinds))
	f.StringVar(&l.by, "by", "", "only messages of the person with this `NAME` or id, and memories about them; assistant: the bot's (default: everybody's)")
	f.StringVar(&l.since, "since", "", "only what was said since `TIME`"+sinceForms)
	f.StringVar(&l.until, "until", "", "only what was said until `TIME`; a day or month is included in full (default: now)")
	f.Func("order", "`ORDER` of the matches: best, newest, oldest (default: best; without a question newest)", oneOf(&l.order, memory.Orders))
	f.StringVar(&l.asker, "as", "", "`NAME` of the person who asks")
	f.IntVar(&l.limit, "limit", 10, "at most `N` memories and as many messages")
	f.BoolVar(&l.explain, "explain", false, "show the parts of each score")
	return cmd
}

type recallQuery struct {
	channel, kind, by, since, until, order, asker string
	limit                                         int
	explain                                       bool
}

// question returns the question that the arguments ask.
func (l recallQuery) question(cmd *cobra.Command, words string) (q memory.Question, err error) {
	q = memory.Question{Text: words, By: l.by, Order: l.order, Asker: l.asker, Limit: l.limit}
	q.Since, err = timeOf(cmd, "since", l.since, memory.Ago)
	if err != nil {
		return q, err
	}
	q.Until, err = timeOf(cmd, "until", l.until, memory.Until)
	if err == nil && q.IsEmpty() {
		err = wrongUse(cmd, errors.New("an argument is missing: a question, or --by, --since, --until or --order"))
	}
	return q, err
}

func (a *app) recall(cmd *cobra.Command, l recallQuery, question string) error {
	if l.limit < 1 {
		return wrongUse(cmd, errors.New("--limit must be at least 1"))
	}
	q, err := l.question(cmd, question)
	if err != nil {
		return err
	}
	found, err := reading(cmd.Context(), a,
		func(bot *otherBot) (findings, error) { return bot.recall(cmd.Context(), l, question) },
		func() (findings, error) { return a.readRecalled(cmd.Context(), l, q) })
	if err != nil {
		return err
	}
	return a.showRecalled(l, found)
}

// findings are what a search has found.
type findings struct {
	in       string // the conversation
	memories []memory.Memory
	messages []said
}

// said is a message that a search has found.
type said struct {
	score float64
	parts []memory.Part
	full  chat.Record
	match string // the part that matches
}

// readRecalled searches in the database, with the settings of this shell.
func (a *app) readRecalled(ctx context.Context, l recallQuery, q memory.Question) (f findings, err error) {
	err = a.withConversation(ctx, l.channel, func(db *store.Store, conversation *store.Conversation) error {
		f.in = conversation.Name()
		if err := a.searchByMeaning(ctx, db); err != nil {
			return err
		}
		filter := q.Memories()
		filter.Kind = l.kind
		f.memories, _, err = memory.Of(conversation).List(ctx, filter)
		if err != nil || l.kind != "" {
			return err
		}
		messages, err := memory.Of(conversation).Recall(ctx, q)
		for _, m := range messages {
			f.messages = append(f.messages, said{m.Score, m.Parts, chat.RecordOf(m.Message), m.Passage(maxMatch)})
		}
		return err
	})
	return f, err
}

func (c *console) showRecalled(l recallQuery, found findings) error {
	if len(found.memories)+len(found.messages) == 0 {
		fmt.Fprintln(c.err, "nothing found")
	}
	var all []recalled
	for _, m := range found.memories {
		text := m.String()
		if m.Conversation != found.in {
			text += " from " + m.Conversation
		}
		all = append(all, recalled{Score: m.Score, Parts: m.Parts, Memory: &m, text: text})
	}
	for _, m := range found.messages {
		part := m.full.Part(m.match)
		part.Time = part.Time.Local() // if it was read from the bot, String shows this one
		all = append(all, recalled{Score: m.score, Parts: m.parts, Message: &m.full, Match: &m.match, text: part.String()})
	}
	for i, r := range all {
		if l.explain {
			r.text += fmt.Sprintf("\n       score %.2f: ", r.Score)
			for n, p := range r.Parts {
				r.text += fmt.Sprintf("%s%s %+.2f", ", "[:2*min(n, 1)], p.Name, p.Value)
			}
		}
		switch {
		case i == 0 && r.Memory != nil:
			r.text = "Remembered:\n" + r.text
		case i == 0:
			r.text = "Said:\n" + r.text
		case r.Message != nil && all[i-1].Memory != nil:
			r.text = "\nSaid:\n" + r.text
		}
		if err := c.show(c.out, r); err != nil {
			return err
		}
	}
	return nil
}

// maxMatch is how many characters of a message or a file are printed.
const maxMatch = 600

type recalled struct {
	Score   float64        `json:"score"` // higher is better, within one answer
	Parts   []memory.Part  `json:"parts"`
	Memory  *memory.Memory `json:"memory,omitempty"`
	Message *chat.Record   `json:"message,omitempty"`
	Match   *string        `json:"match,omitempty"` // the part of the message that matches
	text    string
}

func (r recalled) String() string { return r.text }
