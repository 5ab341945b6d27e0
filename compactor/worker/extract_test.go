package worker

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/transcript"
)

// nested is a job whose rows are known.
type nested struct {
	Record
	below map[int64][]transcript.Summary
}

func (n nested) Messages(context.Context, ...transcript.Span) ([]chat.Message, error) {
	return nil, nil
}

func (n nested) Children(_ context.Context, id int64) ([]transcript.Summary, error) {
	return n.below[id], nil
}

// foldOf returns a fold of a row, or a repair of it.
func foldOf(row transcript.Summary, repaired bool) Assignment {
	a := Assignment{Row: row, Children: []transcript.Summary{row}, Target: 1000}
	a.Row.Kind = transcript.Rollup
	if repaired {
		a.Repaired = row
	}
	return a
}

// A line that a model invented is no evidence for the same line in a fold of its summary, however many folds are between them.
func TestInventedLineSupportsNoFold(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	long := strings.Repeat("- They talked of the weather for a long while.\n", 900) // its text is read in parts
	for name, text := range map[string]string{
		"a short summary": "- The kiln costs 999 EUR (#3).\n- Ada buys a potter's wheel (#2).",
		"a long summary":  "- The kiln costs 999 EUR (#3).\n- Ada buys a potter's wheel (#2).\n" + long,
	} {
		row := transcript.Summary{
			ID: 1, Kind: transcript.Leaf, By: transcript.Worker, Span: transcript.Span{From: 1, To: 4}, FromTime: at, ToTime: at, Messages: 4,
			Text: text, Lines: []transcript.Line{{At: 0}, {At: 1, Seqs: []int64{2}}},
		}
		n := nested{below: map[int64][]transcript.Summary{}}
		for depth := range 4 {
			t.Run(fmt.Sprintf("%s, %d folds below", name, depth), func(t *testing.T) {
				for of, repaired := range map[string]bool{"fold": false, "repair": true} {
					s := check.Must(Material{Assignment: foldOf(row, repaired && depth > 0), record: n}.Extract(t.Context()))(t)
					lines := strings.Split(s.Text, "\n")
					rests := map[string]string{}
					for _, l := range s.Lines {
						rests[lines[l.At]] = fmt.Sprint(l.Seqs, l.Beside)
					}
					check.Equal(t, of+": the invented line", rests["- The kiln costs 999 EUR (#3)."], "[] false")
					check.Equal(t, of+": the other", rests["- Ada buys a potter's wheel (#2)."], "[2] false")
				}
			})
			n.below[row.ID+1] = []transcript.Summary{row}
			row.ID++
			row.Kind = transcript.Rollup
			row.By = transcript.Extractive
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
	row := transcript.Summary{ID: 8, Span: transcript.Span{From: 50, To: 60}, Text: "- They met.\n" + line}
	items := summarize.ItemsOf([]chat.Message{{Seq: 20, Role: llm.RoleUser, Author: "Ada", Text: "We met on Monday."}}, summarize.MaxMessage)
	for name, span := range map[string]transcript.Span{"before": {From: 70, To: 80}, "after": {From: 20, To: 20}} {
		judge := func() *judge.Judge {
			p := part{w: &writer{}, items: items, around: AroundOf(transcript.Summary{Span: span}, []transcript.Summary{row}, nil)}
			return p.judge()
		}
		row.Lines = []transcript.Line{{At: 0, Seqs: []int64{51}}, {At: 1}}
		check.Equal(t, name+" the span, without evidence", judge().Check(line).Lines[0].HasEvidence(), false)
		row.Lines[1].Seqs = []int64{52}
		want := transcript.Line{Seqs: []int64{52}, Beside: true, Earlier: 8}
		check.Equal(t, name+" the span, with evidence", fmt.Sprintf("%+v", judge().Check(line).Lines), fmt.Sprintf("%+v", []transcript.Line{want}))
	}
}

func TestTheSummaryBeforeASpanIsReadWithoutSecrets(t *testing.T) {
	const secret = "ghp_k7Zq2WvR9xLbT4mYc8HsJ5nPd3GfA6uEoKi1"
	row := transcript.Summary{Span: transcript.Span{From: 1, To: 9}, Text: "- The key is " + secret + "."}
	m := Material{by: &Worker{}, Assignment: Assignment{Around: AroundOf(transcript.Summary{Span: transcript.Span{From: 10, To: 20}}, []transcript.Summary{row}, nil)}}
	w := newWriter(m)
	w.Around.max = 100
	text, _ := w.Around.labelled(nil)
	check.Contains(t, "reference", text, "- The key is ")
	check.Lacks(t, "reference", text, secret)
}
