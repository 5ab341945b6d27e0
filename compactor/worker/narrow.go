package worker

import (
	"context"
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/transcript"
)

// maxRepairMessages is the maximum number of messages of one repair.
const maxRepairMessages = 1000

// Narrow returns the row of a repair of messages, limited to what one request can contain: the newest complete turns of
// its span, as the model reads them, with room for their summary. So a large row is repaired piece by piece, and
// each piece is kept. span returns the messages of [from, to], without deleted ones, oldest first.
func (w *Worker) Narrow(ctx context.Context, a Assignment, span func(ctx context.Context, from, to int64) ([]chat.Message, error)) (transcript.Summary, error) {
	row := a.Row
	by := newWriter(Material{Assignment: a, by: w})
	by.use(ctx, w.Model)
	part := by.part(transcript.MinSummary, transcript.MinSummary)
	limit := min(part.maxMaterial(), part.timely()) * 100 / (100 + a.Percent) // less the summary
	from := max(row.From, row.To-maxRepairMessages)
	all, err := span(ctx, from, row.To)
	if err != nil {
		return row, fmt.Errorf("read what is repaired: %w", err)
	}
	if len(all) == 0 {
		return row, nil
	}
	if from > row.From && all[len(all)-1].Turn >= from {
		all = slices.DeleteFunc(all, func(m chat.Message) bool { return m.Turn < from })
	}
	if a.Repaired.Declined.Count(w.Model.Name()) > 0 {
		limit = min(limit, max(summarize.CostOfItems(summarize.ItemsOf(all, summarize.MaxMessage))/2, minPiece))
	}
	n := newestTurns(all, limit)
	if n > 0 || from > row.From {
		row.From = max(row.From, all[n].Turn)
		row.FromTime = all[n].Time
		row.Messages = len(all) - n
	}
	return row, nil
}

// newestTurns returns the index of the first message of the newest turns that have, as the model reads them, up to
// limit tokens; of the last turn in any case.
func newestTurns(all []chat.Message, limit int) int {
	n := len(all)
	tokens := 0
	for n > 0 {
		first := n
		for first > 0 && all[first-1].Turn == all[n-1].Turn {
			first--
		}
		turn := summarize.CostOfItems(summarize.ItemsOf(all[first:n], summarize.MaxMessage))
		if tokens > 0 && tokens+turn > limit {
			break
		}
		n = first
		tokens += turn
	}
	return n
}
