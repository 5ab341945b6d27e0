package worker

import (
	"context"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/transcript"
)

// read returns the model's material: the messages of the span, or for a rollup the children's
// texts, with messages in place of those that need a repair. A message of more than limit tokens is
// split into parts.
func (w *writer) read(ctx context.Context, limit int) ([]summarize.Item, error) {
	rows := w.Children
	switch {
	case w.Row.Kind != transcript.Rollup:
		rows = []transcript.Summary{{Kind: transcript.Placeholder, Span: w.Row.Span}}
	case w.Repaired.ID != 0: // the rollup's text is not read
		children, err := w.record.Children(ctx, w.Repaired.ID)
		if err != nil {
			return nil, err
		}
		if len(children) > 0 {
			rows = children
		}
	}
	return collect(ctx, w.record, rows, func(row transcript.Summary) (items []summarize.Item, known bool, err error) {
		switch {
		case row.NeedsRepair() && row.Declined.Count(w.Model.Name()) >= w.MaxDeclines:
			return []summarize.Item{summarize.Omitted(row)}, true, nil
		case !row.NeedsRepair(), row.Kind != transcript.Placeholder && !row.AwaitsModel: // good summaries are not written again from messages
			return summarize.ItemsOfRow(row, limit), true, nil
		}
		return nil, false, nil
	}, func(messages []chat.Message) []summarize.Item { return summarize.ItemsOf(messages, limit) })
}

// collect returns the material for rows: what of knows of a row, else that of the rows below it, and
// at the bottom the messages.
func collect[T any](
	ctx context.Context, record Record, rows []transcript.Summary,
	of func(transcript.Summary) (part []T, known bool, err error), messages func([]chat.Message) []T,
) (all []T, err error) {
	for _, row := range rows {
		part, known, err := of(row)
		if err == nil && !known && row.IsRollup() {
			var children []transcript.Summary
			children, err = record.Children(ctx, row.ID)
			if err == nil {
				part, err = collect(ctx, record, children, of, messages)
			}
			known = len(part) > 0
		}
		if err == nil && !known {
			var found []chat.Message
			found, err = record.Messages(ctx, row.Span)
			part = messages(found)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return all, nil
}
