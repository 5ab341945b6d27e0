package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/internal/words"
	"cairn/memory"
	"cairn/store"
)

// The search of messages and memories, by words, person and time.

const (
	recallMemories = 5   // the most memories /recall shows
	recallMessages = 20  // the most messages
	recallPassage  = 500 // the most characters of each, and of a file
)

// runRecall answers from stored data, without a model: memories, then messages, in the order of the question. "everywhere" in front of
// the question searches the messages of all conversations that the person may read.
func runRecall(ctx context.Context, c *Call) (Answer, error) {
	scope, rest, _ := strings.Cut(c.Args, " ")
	everywhere := strings.EqualFold(strings.TrimSuffix(scope, ":"), "everywhere") && strings.TrimSpace(rest) != ""
	if everywhere {
		c.Args = strings.TrimSpace(rest)
	}
	q, err := recallQuestion(ctx, c)
	if err != nil {
		return Answer{}, err
	}
	if everywhere {
		return recallEverywhere(ctx, c, q)
	}
	q.Limit = recallMemories
	memories, _, err := memory.Of(c.Records).List(ctx, q.Memories())
	q.Limit = recallMessages
	messages, failed := memory.Of(c.Records).Recall(ctx, q)
	unknown, isUnknown := errors.AsType[*memory.PersonError](failed)
	if isUnknown && len(memories) == 0 {
		return Answer{}, sentences.NewProblem(c.Speaker.Sayf("Nobody here is called %q. I know these names: %s.", unknown.Name, strings.Join(unknown.Known, ", ")))
	} else if isUnknown {
		failed = nil
	}
	err = errors.Join(err, failed)
	if len(memories)+len(messages) == 0 {
		return Answer{Text: fmt.Sprintf("I found nothing here about %q.", c.Args)}, err
	}
	var answer Answer
	for _, m := range memories {
		answer.Items = append(answer.Items, c.Speaker.Word("result", "memory")+" "+MemoryWords(c.Speaker, m))
	}
	for _, m := range messages {
		answer.Items = append(answer.Items, foundWords(c.Speaker, m))
	}
	return answer, err
}

// foundWords describes a message that a search found.
func foundWords(speaker sentences.Speaker, m memory.Found) string {
	m.Text = m.Passage(recallPassage)
	m.Attachments = nil
	return chat.OneLine(record(speaker, m.Message))
}

// Elsewhere is a message that a search through several conversations found.
type Elsewhere struct {
	memory.Found
	Place string // what people call its conversation; "": it is of this one
	Link  string // its address; "": it has none
}

func recallEverywhere(ctx context.Context, c *Call, q memory.Question) (answer Answer, err error) {
	q.Limit = recallMessages
	found, checked, err := c.Conversation.Everywhere(ctx, c.Who, q)
	if err != nil {
		return Answer{}, err
	}
	if len(found) == 0 {
		answer.Text = c.Speaker.Sayf("I found nothing about %q in the places that you may read.", c.Args)
	}
	if !checked {
		answer.Text = strings.TrimSpace(answer.Text + " " + c.Speaker.Sayf("I could not find out whether you may read some places, so I left them out."))
	}
	for _, e := range found {
		line := foundWords(c.Speaker, e.Found)
		if e.Place != "" {
			line = e.Place + " " + line
		}
		answer.Items = append(answer.Items, strings.TrimSpace(line+" "+e.Link))
	}
	return answer, nil
}

// runSources shows what the bot has looked up for an answer.
func runSources(ctx context.Context, c *Call) (Answer, error) {
	m, named, err := c.message(ctx, c.Args)
	switch {
	case c.Args == "":
		m, err = c.Records.Transcript().NewestAnswer(ctx)
	case !named:
		return Answer{}, sentences.NewProblem(c.Speaker.Sayf("Which answer? Give the number of its question: /sources 12. Without a number I show those of my latest answer."))
	}
	if errors.Is(err, store.ErrNotFound) {
		return Answer{}, sentences.NewProblem("I have not answered anything here yet.")
	}
	if err != nil {
		return Answer{}, err
	}
	messages, ids, err := c.Records.Transcript().Sources(ctx, m.Turn)
	answer := Answer{Text: "I have looked this up for that answer:"}
	for _, id := range ids {
		d, failed := memory.Of(c.Records).Details(ctx, id)
		switch {
		case errors.Is(failed, store.ErrNotFound): // it is of another place, whose people decide who reads it there, or deleted
		case failed != nil:
			err = errors.Join(err, failed)
		case d.State != "forgotten":
			answer.Items = append(answer.Items, c.Speaker.Word("result", "memory")+" "+MemoryWords(c.Speaker, d.Memory))
		}
	}
	for _, s := range messages {
		line := chat.Excerpt(record(c.Speaker, s), recallPassage)
		answer.Items = append(answer.Items, strings.TrimSpace(line+" "+c.Conversation.Link(s)))
	}
	if len(answer.Items) == 0 {
		answer.Text = "I have looked nothing up here for that answer, or it was deleted since."
	}
	return answer, err
}

// recallQuestion reads the arguments: words to look for, and by:, since:, until: and order:.
func recallQuestion(ctx context.Context, c *Call) (memory.Question, error) {
	text, values := c.options(ctx)
	fields := memory.Fields{By: values["by"], Since: values["since"], Until: values["until"], Order: values["order"]}
	q, err := fields.Read(memory.Question{Text: text, Asker: c.Who.Name, AskerID: c.Who.ID}, time.Now())
	wrong, ok := errors.AsType[*memory.FieldError](err)
	switch {
	case ok && wrong.Field == "order":
		return q, sentences.NewProblem(c.Speaker.Sayf("There is no order %q. Use best, newest or oldest.", wrong.Text))
	case ok:
		return q, sentences.NewProblem(c.Speaker.Sayf("I cannot read %q after %s: as a time. Write a day, 2026-05-08, or yesterday, \"last week\" or 7d.", wrong.Text, wrong.Field))
	case err == nil && q.IsEmpty():
		return q, sentences.NewProblem(c.Speaker.Sayf("What should I look for? For example: /recall when did we choose the hotel?"))
	}
	return q, err
}

// suggestPeople offers the names of those who speak in the conversation and have a word that begins with what was typed.
func suggestPeople(ctx context.Context, typing Typing) ([]Choice, error) {
	typed := " " + words.Fold(strings.TrimPrefix(strings.TrimSpace(typing.Text), "@"))
	return store.View(ctx, typing.Records, "complete a name", func(tx *store.Tx) (all []Choice) {
		for _, name := range typing.Records.People(tx).Members() {
			if len(all) < maxChoices && strings.Contains(" "+words.Fold(name), typed) {
				all = append(all, Choice{Label: name, Value: name})
			}
		}
		return all
	})
}
