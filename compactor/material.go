package compactor

import (
	"context"
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/secrets"
)

// What a summarizer reads of the store.

// read returns what the worker reads: the messages of the span, or of a rollup
// the children's texts, with the messages of those that need repairing. A message of
// more than most tokens comes in parts.
func (c *Compactor) read(ctx context.Context, j *job, record Job, most int) ([]summarize.Item, error) {
	rows := j.children
	switch {
	case j.row.Kind != Rollup:
		rows = []Compaction{{Kind: Placeholder, Span: Span{From: j.row.From, To: j.row.To}}}
	case j.repairs != 0: // of the rollup itself nothing is read
		children, err := record.Children(ctx, j.repairs)
		if err != nil {
			return nil, err
		}
		if len(children) > 0 {
			rows = children
		}
	}
	return c.materials(ctx, record, rows, most)
}

func (c *Compactor) materials(ctx context.Context, record Job, rows []Compaction, most int) (items []summarize.Item, err error) {
	for _, row := range rows {
		part, err := c.material(ctx, record, row, most)
		if err != nil {
			return nil, err
		}
		items = append(items, part...)
	}
	return items, nil
}

// material is what stands for a row: its text if nobody is to write a better one, else what
// its children stand for, and in the end the messages. So no good summary is read twice.
func (c *Compactor) material(ctx context.Context, record Job, row Compaction, most int) ([]summarize.Item, error) {
	if row.NeedsRepair() && c.givenUp(row) {
		return []summarize.Item{summarize.Omitted(row)}, nil
	}
	if c.ready(row) {
		return summarize.ItemsOfRow(row, most), nil
	}
	if row.IsRollup() {
		children, err := record.Children(ctx, row.ID)
		if err != nil {
			return nil, err
		}
		if items, err := c.materials(ctx, record, children, most); err != nil || len(items) > 0 {
			return items, err
		}
	}
	messages, err := readAll(ctx, record, row.From, row.To)
	return summarize.ItemsOf(messages, most), err
}

func readAll(ctx context.Context, record Job, from, to int64) ([]chat.Message, error) {
	var all []chat.Message
	for from <= to {
		page, err := record.Messages(ctx, from, to, readPage)
		if err != nil {
			return nil, fmt.Errorf("read messages %d to %d: %w", from, to, err)
		}
		if len(page) == 0 {
			break
		}
		all = append(all, page...)
		from = page[len(page)-1].Seq + 1
	}
	return all, nil
}

// readThese reads single messages. One that was deleted is left out.
func readThese(ctx context.Context, record Job, seqs []int64) ([]chat.Message, error) {
	var all []chat.Message
	for _, seq := range seqs {
		if seq == 0 { // what a worker wrote
			continue
		}
		one, err := record.Messages(ctx, seq, seq, 1)
		if err != nil {
			return nil, fmt.Errorf("read message %d: %w", seq, err)
		}
		all = append(all, one...)
	}
	return all, nil
}

// withoutSecrets returns copies of messages with the secrets in them masked.
func withoutSecrets(messages []chat.Message) []chat.Message {
	masked := slices.Clone(messages)
	for i := range masked {
		m := &masked[i]
		m.Text, m.Quote = secrets.Mask(m.Text), secrets.Mask(m.Quote)
		m.Attachments = slices.Clone(m.Attachments)
		for k := range m.Attachments {
			a := &m.Attachments[k]
			a.Name, a.Caption, a.Text = secrets.Mask(a.Name), secrets.Mask(a.Caption), secrets.Mask(a.Text)
		}
	}
	return masked
}
