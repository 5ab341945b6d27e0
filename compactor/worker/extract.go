package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/internal/secrets"
	"cairn/transcript"
)

// source is what the extractive summarizer chooses from: a message, or a worker's text as a message.
type source struct {
	message chat.Message
	row     *transcript.Summary // whose text it is; nil: it is a message
}

func sourcesOf(messages []chat.Message) (all []source) {
	for _, m := range messages {
		all = append(all, source{message: m})
	}
	return all
}

func written(row transcript.Summary) source { return source{summarize.WrittenOf(row), &row} }

// messagesIn returns sources as messages, without secrets.
func messagesIn(sources []source) []chat.Message {
	messages := make([]chat.Message, len(sources))
	for i, s := range sources {
		messages[i] = s.message
	}
	return WithoutSecrets(messages)
}

// Extract has the extractive summarizer choose sentences and memories.
func (m Material) Extract(ctx context.Context) (s summarize.Summary, err error) {
	sources, err := m.sources(ctx)
	if err != nil {
		return s, err
	}
	messages := messagesIn(sources)
	var others [][]string
	for _, terms := range m.Others {
		others = append(others, terms())
	}
	target := m.Target
	if m.repairsMessages() {
		target = Length(summarize.CostOfItems(summarize.ItemsOf(messages, summarize.MaxMessage)), m.Percent, m.Target)
	}
	s = summarize.Extract(messages, target, m.memoriesOf(messages), m.Row.Focus, others...)
	masked := secrets.Mask(s.Text) // a secret may have been split across messages
	if strings.Count(masked, "\n") != strings.Count(s.Text, "\n") {
		s.Lines = nil
	}
	s.Text = masked
	fold := slices.ContainsFunc(sources, func(s source) bool { return s.row != nil })
	if fold || len(m.Removed) > 0 || s.Lines == nil {
		items, rows := evidenceOf(sources, messages)
		c := judge.Of(items).Without(m.Removed).Knowing(s.Lines).Check(s.Text)
		s.Text = c.Text
		s = withDropped(s, c.Wrong)
		s.Lines = summarize.WithFolded(c.Text, c.Lines, rows)
	}
	if s.Text == "" {
		s.Text = fmt.Sprintf("%d messages without words to summarize.", m.Row.Messages)
	}
	return s, nil
}

// evidenceOf returns sources, and their messages without secrets, as the judge of an extract reads them, and the rows among them: texts of
// rows have their lines, because a line without evidence supports no other, in whatever row below.
func evidenceOf(sources []source, messages []chat.Message) (items []summarize.Item, rows []transcript.Summary) {
	for i, s := range sources {
		if s.row == nil {
			items = append(items, summarize.ItemsOf(messages[i:i+1], summarize.MaxMessage)...)
			continue
		}
		row := *s.row
		row.Text = messages[i].Text
		rows = append(rows, row)
		items = append(items, summarize.ItemsOfRow(row, summarize.MaxMessage)...)
	}
	return items, rows
}

// sources returns what an extract chooses from: the messages of the span, or, for a
// fold, those its children were chosen from. The extractive summarizer never chooses from its
// output; a worker's text counts like a message.
func (m Material) sources(ctx context.Context) ([]source, error) {
	rows := m.Children
	if m.Row.Kind != transcript.Rollup {
		rows = []transcript.Summary{{Kind: transcript.Placeholder, Span: m.Row.Span}}
	}
	return collect(ctx, m.record, rows, func(row transcript.Summary) (from []source, known bool, err error) {
		switch {
		case row.By == transcript.Worker:
			from = []source{written(row)}
		case row.Kind != transcript.Placeholder:
			from, err = choice(ctx, m.record, row)
		default:
			return nil, false, nil
		}
		return from, true, err
	}, sourcesOf)
}

// choice returns what a fold chooses among for a row that the extractive summarizer made: the
// messages that row was chosen from, and the texts of workers it drew on, which are in the rows
// below it.
func choice(ctx context.Context, record Record, row transcript.Summary) ([]source, error) {
	spans := make([]transcript.Span, len(row.Sources)) // 0, a worker's text, is no message
	for i, seq := range row.Sources {
		spans[i] = transcript.Span{From: seq, To: seq}
	}
	messages, err := record.Messages(ctx, spans...)
	sources := sourcesOf(messages)
	below := []transcript.Summary{row}
	for reads := 0; err == nil && len(below) > 0 && reads < maxChildReads; reads++ {
		next := below[0]
		below = below[1:]
		if !slices.Contains(next.Sources, 0) {
			continue
		}
		var children []transcript.Summary
		children, err = record.Children(ctx, next.ID)
		for _, child := range children {
			if child.By != transcript.Worker {
				below = append(below, child)
				continue
			}
			at := slices.IndexFunc(sources, func(s source) bool { return s.message.Seq >= child.From })
			if at < 0 {
				at = len(sources)
			}
			sources = slices.Insert(sources, at, written(child))
		}
	}
	if err == nil && len(sources) == 0 && slices.Contains(row.Sources, 0) { // a copy, which has no rows below it
		sources = []source{written(row)}
	}
	return sources, err
}

// maxChildReads limits how many rows' children a fold reads: a worker's text is about as many folds
// deep as the number of times the conversation has doubled since.
const maxChildReads = 64

// memoriesOf returns how many memories the extractive summarizer may take from messages: none for a
// fold of summaries, because its children have them already.
func (a Assignment) memoriesOf(messages []chat.Message) int {
	hidden := func(row transcript.Summary) bool { return row.Kind == transcript.Placeholder }
	if a.Row.Kind == transcript.Rollup && !slices.ContainsFunc(a.Children, hidden) {
		return 0
	}
	return min(a.Memories, (len(messages)+1)/2)
}
