package compactor

import (
	"context"
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/secrets"
	"cairn/internal/words"
)

// How the extractive summarizer is run: what it chooses from, and what its lines rest on.

func extractive(ctx context.Context, j *job, record Job, target int, beside []string) (s summarize.Summary, err error) {
	messages, err := messagesFor(ctx, j, record)
	if err != nil {
		return s, err
	}
	var others [][]string
	for _, text := range beside {
		others = append(others, words.Content(text))
	}
	target = j.aim(target, func() []summarize.Item { return summarize.ItemsOf(messages, summarize.MostOfMessage) })
	s = summarize.Extract(messages, target, memoriesOf(j, messages), j.row.Focus, others...)
	s.Text = secrets.Mask(s.Text) // a secret may have been split across messages
	c := summarize.JudgeOf(evidenceItems(messages, j.children)).Without(j.removed).Check(s.Text)
	s.Text = c.Text
	s = withDropped(s, c.Wrong)
	s.Lines = summarize.WithFolded(c.Text, summarize.WithQuoted(c.Text, c.Lines, messages), j.children)
	if s.Text == "" {
		s.Text = fmt.Sprintf("%d messages without words that could be summed up.", j.row.Messages)
	}
	return s, nil
}

// messagesFor returns what the job's summary is made from: the messages of the span, or, for a
// fold, those its children were chosen from. The extractive summarizer never chooses from its own
// output; a worker's text counts like a message.
func messagesFor(ctx context.Context, j *job, record Job) (messages []chat.Message, err error) {
	rows := j.children
	if j.row.Kind != Rollup {
		rows = []Summary{{Kind: Placeholder, Span: j.row.Span}}
	}
	messages, err = collect(ctx, record, rows, func(row Summary) (said []chat.Message, known bool, err error) {
		switch {
		case row.By == ByWorker:
			said = []chat.Message{summarize.WrittenOf(row)}
		case row.Kind != Placeholder:
			said, err = choice(ctx, record, row)
		default:
			return nil, false, nil
		}
		return said, true, err
	}, func(said []chat.Message) []chat.Message { return said })
	return withoutSecrets(messages), err
}

// choice returns what a fold chooses among for a row that the extractive summarizer made: the
// messages that row was chosen from, and the texts of workers it drew on, which are in the rows
// below it.
func choice(ctx context.Context, record Job, row Summary) ([]chat.Message, error) {
	sources := make([]Span, len(row.Sources)) // 0, a worker's text, is no message
	for i, seq := range row.Sources {
		sources[i] = Span{From: seq, To: seq}
	}
	messages, err := record.Messages(ctx, sources...)
	below := []Summary{row}
	for reads := 0; err == nil && len(below) > 0 && reads < maxChildReads; reads++ {
		next := below[0]
		below = below[1:]
		if !slices.Contains(next.Sources, 0) {
			continue
		}
		var children []Summary
		children, err = record.Children(ctx, next.ID)
		for _, child := range children {
			if child.By != ByWorker {
				below = append(below, child)
				continue
			}
			at := slices.IndexFunc(messages, func(m chat.Message) bool { return m.Seq >= child.From })
			if at < 0 {
				at = len(messages)
			}
			messages = slices.Insert(messages, at, summarize.WrittenOf(child))
		}
	}
	if err == nil && len(messages) == 0 && slices.Contains(row.Sources, 0) { // a copy, which has no rows below it
		messages = []chat.Message{summarize.WrittenOf(row)}
	}
	return messages, err
}

// maxChildReads limits how many rows' children a fold reads: a worker's text is about as many folds
// deep as the number of times the conversation has doubled since.
const maxChildReads = 64

// memoriesOf returns how many memories the extractive summarizer may take from messages: none for a
// fold of summaries, because they were taken when the children were made.
func memoriesOf(j *job, messages []chat.Message) int {
	hidden := func(row Summary) bool { return row.Kind == Placeholder }
	if !j.policy.ExtractMemories || j.modelFollows || j.row.Kind == Rollup && !slices.ContainsFunc(j.children, hidden) {
		return 0
	}
	return min(j.policy.MaxMemories, (len(messages)+1)/2)
}
