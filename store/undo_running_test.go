package store_test

import (
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/transcript"
)

// A job running during an undo of the summary over its messages would hide them again.
func TestUndoEndsRunningRows(t *testing.T) {
	c := storetest.Imported(t, 12)
	storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Extractive, 1, 5))
	over, failing, beside := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 5), storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 3, 5), storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 6, 8)
	undo(t, c)
	check.NoError(t, check.ErrorOf(over.Store(ctx, summarize.Summary{Text: "late", Tokens: 7})))
	check.NoError(t, failing.Fail(ctx, "too slow"))
	check.NoError(t, check.ErrorOf(beside.Store(ctx, summarize.Summary{Text: "beside", Tokens: 7})))
	_, rows := storetest.ApplyRows(t, c, over.ID(), failing.ID(), beside.ID())
	for i, want := range []transcript.Status{transcript.Stale, transcript.Failed, transcript.Prepared} {
		if rows[i].State != want || want == transcript.Stale && rows[i].Text != "" {
			t.Errorf("row %d: got %s, want %s: %+v", i, rows[i].State, want, rows[i])
		}
	}
}

// A text that repeated something deleted elsewhere is gone: its row comes back as a placeholder.
func TestUndoRestoresBlankRowAsPlaceholder(t *testing.T) {
	c := storetest.Imported(t, 12)
	old := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Extractive, 1, 5)
	storetest.ApplyRows(t, c, old)
	storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 5))
	storetest.Run(t, c.Store(), "UPDATE compactions SET text = '', sources = '' WHERE id = ?", old)
	head := undo(t, c)
	check.Equal(t, "stack", storetest.Shape(head.Stack), "placeholder emergency 1-5")
	check.Equal(t, "tokens of the first row", head.Stack[0].Tokens, head.Stack[0].Cost())
}
