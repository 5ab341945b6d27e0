package transcript

import (
	"testing"

	"cairn/testkit/check"
)

// TestInsertSplitsWhatItOverlaps: what is left of a row will be placeholders, whatever it was.
func TestInsertSplitsWhatItOverlaps(t *testing.T) {
	got := insert([]Summary{{ID: 1, Span: Span{From: 1, To: 100}, Kind: Leaf, Text: "long", Tokens: 3000}}, Summary{ID: 2, Span: Span{From: 30, To: 60}, Tokens: 1500})
	check.That(t, len(got) == 3 && got[0].To == 29 && got[1].ID == 2 && got[2].Span == Span{From: 61, To: 100}, "insert gave %+v", got)
	check.That(t, StackCost(got) < 1600 && got[0].Text == "" && got[2].Kind == Placeholder, "the parts cost %d: %+v", StackCost(got), got)
}
