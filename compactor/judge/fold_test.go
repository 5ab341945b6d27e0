package judge

import (
	"fmt"
	"slices"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/testkit/check"
	"cairn/transcript"
)

func TestFoldWithoutModelRestsOnWhatItsRowsRestOn(t *testing.T) {
	row := transcript.Summary{By: transcript.Worker, Span: transcript.Span{From: 1, To: 9}, Text: "- Ada sails to the north pier on Monday\n- Bob mends the red boat"}
	row.Lines = []transcript.Line{{At: 0, Seqs: []int64{3, 4}}, {At: 1}}
	messages := []chat.Message{summarize.WrittenOf(row)}
	s := summarize.Extract(messages, 200, 0, "")
	lines := Of(summarize.ItemsOf(messages, summarize.MaxMessage)).Check(s.Text).Lines
	lines = summarize.WithFolded(s.Text, lines, []transcript.Summary{row})
	check.Equal(t, "text", s.Text, row.Text)
	check.Equal(t, "lines", fmt.Sprint(lines), fmt.Sprint(row.Lines))
}

func TestFoldOfBothFormsIsAccepted(t *testing.T) {
	row := rowOf(headedText)
	got := summarize.Extract(slices.Concat([]chat.Message{summarize.WrittenOf(row)}, harbour), 300, 0, "")
	check.Contains(t, "fold", got.Text, "\n"+summarize.Quoted+"\n")
	judge := Of(slices.Concat(summarize.ItemsOfRow(row, summarize.MaxMessage), summarize.ItemsOf(harbour, summarize.MaxMessage)))
	check.Equal(t, "refusal of the fold", judge.Refuses(judge.TextOf(got.Text), "", "", 10_000), "")
}
