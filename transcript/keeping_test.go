package transcript_test

import (
	"testing"

	"cairn/testkit/check"
	"cairn/transcript"
)

func TestKeepingLinesOfPeople(t *testing.T) {
	theirs := transcript.Summary{Text: "- Ann plays chess", Lines: []transcript.Line{{At: 0, By: "Cleo", ByID: "c"}}}
	t.Run("a line that a model repeated with a citation is theirs, word for word, and is there once", func(t *testing.T) {
		row := transcript.Summary{Text: "- It rains\n* Ann plays chess (#3)", Lines: []transcript.Line{{At: 0}, {At: 1, Seqs: []int64{3}, By: "Cleo"}}}
		kept := row.Keeping(theirs)
		check.Equal(t, "text", kept.Text, "- It rains\n* Ann plays chess")
		check.Len(t, "lines", kept.Lines, 2)
		check.Equal(t, "id", kept.Lines[1].ByID, "c")
	})
	t.Run("a heading with their words is not their line", func(t *testing.T) {
		heading := transcript.Summary{Text: "- ## Chess", Lines: []transcript.Line{{At: 0, By: "Cleo", ByID: "c"}}}
		kept := transcript.Summary{Text: "## Chess\n- It rains"}.Keeping(heading)
		check.Equal(t, "text", kept.Text, "## Chess\n- It rains\n- ## Chess")
	})
}
