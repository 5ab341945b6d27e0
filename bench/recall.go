package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/compactor"
	"cairn/memory"
)

const recallHelp = `Recall imports the recordings of DIR into a database, asks each question in its own
conversation, without any model, and looks where the messages stand that answer it.

@5, @10, @20 are the share of them among the first 5, 10, 20 that were found, the mean over
the questions; all@10 is the share of the questions of which all are among the first 10; MRR
is the mean of 1/place of the first one; tokens is what the first 10 cost in a prompt. In
the row with typos each question has one, made of nothing but the question. Questions
without an answer are left out.

For the latency, conversations of invented talk in the words of DIR are asked the same
questions: many of 2000 messages each, and from 100000 rows on one of 100000 beside them.
Each question is asked three times, and the fastest counts: what else the machine does is
not measured.

` + recordingsHelp + `

A run that misses a target ends with 3.`

// recalling is what `recall` is asked for.
type recalling struct {
	rows []int
	json bool
}

func newRecall(s *screen) *cobra.Command {
	var r recalling
	cmd := &cobra.Command{
		Use:   "recall DIR",
		Short: "How well and how fast what was said is found again",
		Long:  recallHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, n := range r.rows {
				if n < 1000 || n > 10_000_000 {
					return wrongFlag(cmd, "rows", n, "from 1000 to 10000000")
				}
			}
			return r.run(cmd.Context(), s, args[0])
		},
	}
	cmd.Flags().IntSliceVar(&r.rows, "rows", []int{10_000, 100_000}, "`N,…` messages to measure the latency at; 1000000 takes minutes")
	cmd.Flags().BoolVar(&r.json, "json", false, "write JSON")
	return cmd
}

// quality is how well questions were answered.
type quality struct {
	Name      string  `json:"name"`
	Questions int     `json:"questions"`
	At5       float64 `json:"recall_at_5"`
	At10      float64 `json:"recall_at_10"`
	At20      float64 `json:"recall_at_20"`
	MRR       float64 `json:"mrr"`
	All10     float64 `json:"all_at_10"`
	Tokens    float64 `json:"tokens_at_10"`
}

// add counts a question with its evidence and what was found.
func (q *quality) add(evidence []int64, found []memory.Found) {
	at := func(n int) float64 {
		hits := 0
		for _, f := range found[:min(n, len(found))] {
			if slices.Contains(evidence, f.Seq) {
				hits++
			}
		}
		return float64(hits) / float64(len(evidence))
	}
	q.Questions++
	q.At5 += at(5)
	q.At10 += at(10)
	q.At20 += at(20)
	if at(10) == 1 {
		q.All10++
	}
	if first := slices.IndexFunc(found, func(f memory.Found) bool { return slices.Contains(evidence, f.Seq) }); first >= 0 {
		q.MRR += 1 / float64(first+1)
	}
	for _, f := range found[:min(10, len(found))] {
		q.Tokens += float64(compactor.TokensOf(f.Message))
	}
}

// mean makes sums over questions means.
func (q quality) mean() quality {
	n := float64(max(q.Questions, 1))
	for _, v := range []*float64{&q.At5, &q.At10, &q.At20, &q.MRR, &q.All10, &q.Tokens} {
		*v /= n
	}
	return q
}

// recalled is the whole result.
type recalled struct {
	Conversations []quality `json:"conversations"`
	Categories    []quality `json:"categories"`
	All           quality   `json:"all"`
	Typos         quality   `json:"typos"`
	Latency       []pace    `json:"latency"`
	Targets       []goal    `json:"targets"`
}

func atLeast(name string, value, must, aim float64) goal {
	return goal{name, value, must, aim, value >= must, value >= aim}
}

func atMost(name string, value, must, aim float64) goal {
	return goal{name, value, must, aim, value <= must, value <= aim}
}

func (r recalling) run(ctx context.Context, s *screen, dir string) error {
	defer s.done()
	all, err := readRecordings(dir)
	if err != nil {
		return err
	}
	result, err := ask(ctx, s, all)
	if err != nil {
		return err
	}
	for _, rows := range r.rows {
		paces, err := measurePace(ctx, s, all, rows)
		if err != nil {
			return err
		}
		result.Latency = append(result.Latency, paces...)
	}
	result.judge()
	s.done()
	return s.conclude(r.json, result, result.Targets)
}

// categoryNames are LoCoMo's.
var categoryNames = map[int]string{1: "several messages", 2: "time", 3: "general knowledge too", 4: "one message"}

// ask asks all questions of all recordings, with and without a typo.
func ask(ctx context.Context, s *screen, all []recording) (result recalled, err error) {
	dir, err := os.MkdirTemp("", "cairn-bench-")
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := memory.Open(ctx, memory.Options{Dir: dir})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	categories := map[int]*quality{}
	result.All.Name, result.Typos.Name = "all", "one typo each"
	for _, recording := range all {
		conv, err := store.Conversation(ctx, "bench:recall/"+recording.name)
		if err != nil {
			return result, err
		}
		if _, err := conv.Import(ctx, recording.past()); err != nil {
			return result, err
		}
		here := quality{Name: recording.name}
		for i, q := range recording.asked {
			s.progress("%s: question %d of %d", recording.name, i+1, len(recording.asked))
			if q.Category == noAnswer || len(q.seqs) == 0 {
				continue
			}
			found, err := conv.Recall(ctx, recording.question(q.Text))
			if err != nil {
				return result, err
			}
			if categories[q.Category] == nil {
				categories[q.Category] = &quality{Name: categoryNames[q.Category]}
			}
			for _, sum := range []*quality{&here, &result.All, categories[q.Category]} {
				sum.add(q.seqs, found)
			}
			if found, err = conv.Recall(ctx, recording.question(misspell(q.Text))); err != nil {
				return result, err
			}
			result.Typos.add(q.seqs, found)
		}
		result.Conversations = append(result.Conversations, here.mean())
	}
	for category := range 10 {
		if q := categories[category]; q != nil {
			result.Categories = append(result.Categories, q.mean())
		}
	}
	result.All, result.Typos = result.All.mean(), result.Typos.mean()
	return result, nil
}

// question asks text a day after the last message.
func (r recording) question(text string) memory.Question {
	q := memory.Question{Text: text, Limit: 20}
	if n := len(r.said); n > 0 {
		q.Now = r.said[n-1].Time.AddDate(0, 0, 1)
	}
	return q
}

// judge compares the result with the targets.
func (r *recalled) judge() {
	r.Targets = []goal{
		atLeast("recall@10", 100*r.All.At10, 77, 81),
		atLeast("recall@5", 100*r.All.At5, 70, 74),
		atLeast("recall@20", 100*r.All.At20, 83, 86),
		atLeast("MRR", r.All.MRR, 0.62, 0.66),
		atLeast("recall@10 with a typo", 100*r.Typos.At10, 75, 78),
	}
	for _, p := range r.Latency {
		what := fmt.Sprintf("at %s rows, %s, ", thousands(p.Rows), p.Shape)
		if p.Rows <= 100_000 {
			r.Targets = append(r.Targets, atMost(what+"p50 ms", p.P50, 5, 2), atMost(what+"p99 ms", p.P99, 15, 5))
		} else {
			r.Targets = append(r.Targets, atMost(what+"p50 ms", p.P50, 20, 4), atMost(what+"p99 ms", p.P99, 60, 15))
		}
	}
}

// table is the result as people read it.
func (r recalled) table(s *screen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %d questions, no model\n\n", s.paint(bold, "recall"), r.All.Questions)
	b.WriteString(s.paint(dim, left("", 24)+right("questions", 10)+right("@5", 8)+right("@10", 8)+right("@20", 8)+right("MRR", 8)+right("all@10", 8)+right("tokens", 8)) + "\n")
	line := func(q quality, color string) {
		fmt.Fprintf(&b, "%s%s%s%s%s%s%s%s\n", left(q.Name, 24), right(thousands(q.Questions), 10),
			right(fmt.Sprintf("%.1f", 100*q.At5), 8), s.paint(color, right(fmt.Sprintf("%.1f", 100*q.At10), 8)), right(fmt.Sprintf("%.1f", 100*q.At20), 8),
			right(fmt.Sprintf("%.3f", q.MRR), 8), right(fmt.Sprintf("%.1f", 100*q.All10), 8), right(fmt.Sprintf("%.0f", q.Tokens), 8))
	}
	for _, rows := range [][]quality{r.Conversations, r.Categories} {
		for _, q := range rows {
			line(q, "")
		}
		b.WriteByte('\n')
	}
	line(r.All, bold)
	line(r.Typos, bold)
	if len(r.Latency) > 0 {
		b.WriteString("\n" + s.paint(dim, left("", 44)+right("p50", 10)+right("p99", 10)) + "\n")
		for _, p := range r.Latency {
			fmt.Fprintf(&b, "%s%s%s\n", left(thousands(p.Rows)+" rows, "+p.Shape, 44),
				right(fmt.Sprintf("%.2f ms", p.P50), 10), right(fmt.Sprintf("%.2f ms", p.P99), 10))
		}
	}
	b.WriteByte('\n')
	for _, g := range r.Targets {
		verdict := s.paint(green, "met, and the aim too")
		switch {
		case !g.Met:
			verdict = s.paint(red, "missed")
		case !g.Hit:
			verdict = "met"
		}
		fmt.Fprintf(&b, "%s%s   must %g, aim %g: %s\n", left(g.Name, 56), right(fmt.Sprintf("%.2f", g.Value), 8), g.Must, g.Aim, verdict)
	}
	return b.String()
}
