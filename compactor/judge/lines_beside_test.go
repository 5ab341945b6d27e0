package judge

import (
	"fmt"
	"testing"

	"cairn/compactor/summarize"
	"cairn/testkit/check"
	"cairn/transcript"
)

// What the writer was shown beside the span is no invention, but no message of the span says it.
func TestLinesThatRestOnWhatIsBesideTheSpan(t *testing.T) {
	judge := Of(summarize.ItemsOf(hall(), summarize.MaxMessage))
	const line = "- Wilhelmina restores doors for 700 EUR."
	earlier := transcript.Summary{
		ID: 7, Span: transcript.Span{From: 70, To: 80}, FromTime: monday, ToTime: monday, Text: "## Facts\n" + line + "\n- Ben likes doors.",
	}
	with := func(lines ...transcript.Line) *Judge {
		row := earlier
		row.Lines = lines
		return judge.With("", "", row)
	}
	check.Equal(t, "unknown without them", fmt.Sprint(judge.Check(line).Unknown), fmt.Sprint([]int{0}))
	for name, c := range map[string]struct {
		judge *Judge
		want  transcript.Line
	}{
		"the summary before, with its messages": {with(transcript.Line{At: 1, Seqs: []int64{77, 78}}), transcript.Line{Seqs: []int64{77, 78}, Beside: true, Earlier: 7}},
		"one of which nothing is known":         {with(), transcript.Line{Beside: true, Earlier: 7}},
		"a person's line in it":                 {with(transcript.Line{At: 1, By: "Ada", ByID: "a"}), transcript.Line{Beside: true, Earlier: 7}},
		"one that rests on another":             {with(transcript.Line{At: 1, Beside: true, Earlier: 3}), transcript.Line{Beside: true, Earlier: 7}},
		"messages after the span":               {judge.With("Ada: Wilhelmina restores doors for 700 EUR (#90)", ""), transcript.Line{Seqs: []int64{90}, Beside: true}},
		"the agent's prompt":                    {judge.With("", "Wilhelmina restores doors, for 700 EUR each."), transcript.Line{Beside: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.judge.Check(line)
			check.That(t, got.Text == line && len(got.Wrong)+len(got.Unknown) == 0, "got %+v", got)
			check.Equal(t, "lines", fmt.Sprintf("%+v", got.Lines), fmt.Sprintf("%+v", []transcript.Line{c.want}))
		})
	}
	t.Run("a line without evidence there supports none", func(t *testing.T) {
		got := with(transcript.Line{At: 1}).Check(line)
		check.That(t, len(got.Unknown) == 1 && !got.Lines[0].HasEvidence(), "got %+v", got)
	})
	t.Run("what the span says, too, rests on the span", func(t *testing.T) {
		row := earlier
		row.Text = "- The roof has 3 leaks."
		got := judge.With("", "", row).Check("- The roof has 3 leaks (#6).")
		check.That(t, len(got.Lines) == 1 && !got.Lines[0].Beside, "got %+v", got)
	})
	t.Run("its messages may be cited", func(t *testing.T) {
		cited := with(transcript.Line{At: 1, Seqs: []int64{77}}).Check("- Wilhelmina restores doors (#77).")
		check.Equal(t, "reasons", fmt.Sprint(cited.Wrong), "[]")
	})
	t.Run("in a fold it still rests on that summary", func(t *testing.T) {
		row := transcript.Summary{
			ID: 9, Span: transcript.Span{From: 1, To: 40}, FromTime: monday, ToTime: monday, Text: line,
			Lines: []transcript.Line{{At: 0, Seqs: []int64{77}, Beside: true, Earlier: 7}},
		}
		got := Of(summarize.ItemsOfRow(row, summarize.MaxMessage)).Check(line)
		check.Equal(t, "lines", fmt.Sprintf("%+v", got.Lines), fmt.Sprintf("%+v", row.Lines))
	})
}
