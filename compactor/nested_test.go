package compactor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/transcript"
)

// nested is a job whose rows are known.
type nested struct {
	compactor.Job
	below map[int64][]compactor.Summary
}

func (n nested) Messages(context.Context, ...compactor.Span) ([]chat.Message, error) { return nil, nil }

func (n nested) Children(_ context.Context, id int64) ([]compactor.Summary, error) {
	return n.below[id], nil
}

// A line that a model invented is no evidence for the same line in a fold of its summary, however many folds are between them.
func TestInventedLineSupportsNoFold(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	long := strings.Repeat("- They talked of the weather for a long while.\n", 900) // its text is read in parts
	for name, text := range map[string]string{
		"a short summary": "- The kiln costs 999 EUR (#3).\n- Ada buys a potter's wheel (#2).",
		"a long summary":  "- The kiln costs 999 EUR (#3).\n- Ada buys a potter's wheel (#2).\n" + long,
	} {
		row := compactor.Summary{
			ID: 1, Kind: compactor.Leaf, By: compactor.ByWorker, Span: compactor.Span{From: 1, To: 4}, FromTime: at, ToTime: at, Messages: 4,
			Text: text, Lines: []transcript.Line{{At: 0}, {At: 1, Seqs: []int64{2}}},
		}
		n := nested{below: map[int64][]compactor.Summary{}}
		for depth := range 4 {
			t.Run(fmt.Sprintf("%s, %d folds below", name, depth), func(t *testing.T) {
				for of, repaired := range map[string]bool{"fold": false, "repair": true} {
					s := check.Must(compactor.ExtractOf(t.Context(), n, repaired && depth > 0, row))(t)
					lines := strings.Split(s.Text, "\n")
					rests := map[string]string{}
					for _, l := range s.Lines {
						rests[lines[l.At]] = fmt.Sprint(l.Seqs, l.Beside)
					}
					check.Equal(t, of+": the invented line", rests["- The kiln costs 999 EUR (#3)."], "[] false")
					check.Equal(t, of+": the other", rests["- Ada buys a potter's wheel (#2)."], "[2] false")
				}
			})
			n.below[row.ID+1] = []compactor.Summary{row}
			row.ID++
			row.Kind = compactor.Rollup
			row.By = compactor.ByExtractive
			row.Children = []int64{row.ID - 1}
			row.Sources = []int64{0}
			row.Text = "- Ada buys a potter's wheel (#2)." // it had no room for more
			row.Lines = []transcript.Line{{At: 0, Seqs: []int64{2}}}
		}
	}
}

// Nor does it support a line of a summary whose writer was shown it before or after the span.
func TestInventedLineBesideTheSpan(t *testing.T) {
	const line = "- Wilhelmina restores doors for 700 EUR."
	row := compactor.Summary{ID: 8, Span: compactor.Span{From: 50, To: 60}, Text: "- They met.\n" + line}
	items := summarize.ItemsOf([]chat.Message{{Seq: 20, Role: llm.RoleUser, Author: "Ada", Text: "We met on Monday."}}, summarize.MaxMessage)
	for name, judgeOf := range map[string]func(compactor.Summary) *judge.Judge{
		"before": func(row compactor.Summary) *judge.Judge { return compactor.JudgeBeside(items, row) },
		"after": func(row compactor.Summary) *judge.Judge {
			return compactor.JudgeBeside(items, compactor.Summary{}, row)
		},
	} {
		row.Lines = []transcript.Line{{At: 0, Seqs: []int64{51}}, {At: 1}}
		check.Equal(t, name+" the span, without evidence", judgeOf(row).Check(line).Lines[0].HasEvidence(), false)
		row.Lines[1].Seqs = []int64{52}
		want := transcript.Line{Seqs: []int64{52}, Beside: true, Earlier: 8}
		check.Equal(t, name+" the span, with evidence", fmt.Sprintf("%+v", judgeOf(row).Check(line).Lines), fmt.Sprintf("%+v", []transcript.Line{want}))
	}
}
