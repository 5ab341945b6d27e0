package main

import (
	"context"
	"errors"
	"path/filepath"

	"cairn/chat"
	"cairn/memory"
	"cairn/store"
)

const recallHelp = `Recall imports the recordings of DIR, asks each question in its own conversation, without a model,
and ranks the messages that answer it among the results.

@5, @10, @20  share of them among the first 5, 10, 20; the mean over the questions
hit@10        share of the questions with one of them among the first 10
MRR           mean of 1/place of the first one
tokens        prompt tokens of the first 10

Each folder is a set. The table of sets has the 95 % confidence interval of each figure, by drawing
the questions again, and the figure of plain BM25: each message alone, k1 = 1.2, b = 0.75, over the
same words as Cairn's index. What else is reported is of the first folder.

"One typo each" asks the same questions with a typo. Latency is measured in conversations of invented
talk in the words of DIR: in many of 2000 messages, and in one of --rows. The fastest of three tries
counts. Targets are for 100000 rows.

With --embeddings, messages and questions get vectors from a server with OpenAI's interface, and a
search also compares these. The texts of DIR are sent to it; OPENAI_API_KEY is its key.

` + recordingsHelp

func newRecall() *benchmark {
	var rows int
	var onServer bool
	var by embeddingServer
	b := newBenchmark("recall DIR…", "Measure how well and how fast search finds messages", recallHelp, func(ctx context.Context, s *screen, dirs []string) (result, error) {
		return measureRecall(ctx, s, dirs, rows, onServer, by)
	})
	by.addTo(b)
	b.Flags().BoolVar(&onServer, "postgres", false, "measure latency on PostgreSQL, too, which the bench starts")
	b.integer(&rows, "rows", 100_000, ordinaryTalk, 10_000_000, "`N` messages for the latency measurement; 1000000 takes minutes")
	return b
}

// quality is how well questions were answered.
type quality struct {
	Name      string  `json:"name"`
	Questions int     `json:"questions"`
	At5       float64 `json:"recall_at_5"`
	At10      float64 `json:"recall_at_10"`
	At20      float64 `json:"recall_at_20"`
	MRR       float64 `json:"mrr"`
	Tokens    float64 `json:"tokens_at_10"`

	each []outcome // of the questions
}

// add counts a question with its evidence and its results.
func (q *quality) add(evidence []int64, found []memory.Found) {
	var seqs []int64
	for _, f := range found {
		seqs = append(seqs, f.Seq)
	}
	o := outcomeOf(evidence, seqs)
	q.Questions++
	q.At5 += o[at5]
	q.At10 += o[at10]
	q.At20 += o[at20]
	q.MRR += o[mrr]
	for _, f := range found[:min(10, len(found))] {
		q.Tokens += float64(chat.TokensOf(f.Message))
	}
	q.each = append(q.each, o)
}

// mean converts sums over questions into means.
func (q quality) mean() quality {
	n := float64(max(q.Questions, 1))
	for _, v := range []*float64{&q.At5, &q.At10, &q.At20, &q.MRR, &q.Tokens} {
		*v /= n
	}
	return q
}

// postgresTimes is how much longer than on SQLite a question may take on PostgreSQL: it waits for the server several times.
const postgresTimes = 3

// recalled is the result.
type recalled struct {
	Sets          []figure  `json:"sets"`
	Conversations []quality `json:"conversations"`
	Categories    []quality `json:"categories"`
	All           quality   `json:"all"`
	Typos         quality   `json:"typos"`
	Latency       []pace    `json:"latency"`
	targets
}

func measureRecall(ctx context.Context, s *screen, dirs []string, rows int, onServer bool, by embeddingServer) (r recalled, err error) {
	var first []recording
	for i, dir := range dirs {
		all, err := readRecordings(dir)
		if err != nil {
			return r, err
		}
		of, err := ask(ctx, s, all, by)
		if err != nil {
			return r, err
		}
		figures := figuresOf(filepath.Base(dir), of.All.each, askPlainly(all))
		if i == 0 {
			first = all
			r = of
		}
		r.Sets = append(r.Sets, figures...)
	}
	for _, messages := range []int{ordinaryTalk, rows} {
		db, err := openStore(ctx, "")
		if err != nil {
			return r, err
		}
		p, err := measurePace(ctx, s, first, rows/messages, messages, by, db)
		if err != nil {
			return r, err
		}
		r.Latency = append(r.Latency, p)
		if !onServer {
			continue
		}
		db, err = openServed(ctx)
		if err != nil {
			return r, err
		}
		served, err := measurePace(ctx, s, first, rows/messages, messages, by, db)
		if err != nil {
			return r, err
		}
		served.Shape += " on PostgreSQL"
		served.onSQLite = p.P50
		r.Latency = append(r.Latency, served)
	}
	r.judge()
	return r, nil
}

// categoryNames are the categories of LoCoMo.
var categoryNames = map[int]string{1: "several messages", 2: "time", 3: "general knowledge too", 4: "one message"}

// ask asks all questions of all recordings, with and without a typo.
func ask(ctx context.Context, s *screen, all []recording, by embeddingServer) (result recalled, err error) {
	db, err := openStore(ctx, "")
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	categories := map[int]*quality{}
	result.All.Name = "all"
	result.Typos.Name = "one typo each"
	in := make([]*store.Conversation, len(all))
	for i, recording := range all {
		in[i], err = db.conversation(ctx, "bench:recall/"+recording.name, recording.said)
		if err != nil {
			return result, err
		}
	}
	if err := by.fill(ctx, s, db.Store); err != nil {
		return result, err
	}
	for i, recording := range all {
		conv := in[i]
		here := quality{Name: recording.name}
		for i, q := range recording.asked {
			s.progress("%s: question %d of %d", recording.name, i+1, len(recording.asked))
			if !q.hasAnswer() {
				continue
			}
			found, err := memory.Of(conv).Recall(ctx, recording.question(q.Text))
			if err != nil {
				return result, err
			}
			if categories[q.Category] == nil {
				categories[q.Category] = &quality{Name: categoryNames[q.Category]}
			}
			for _, sum := range []*quality{&here, &result.All, categories[q.Category]} {
				sum.add(q.seqs, found)
			}
			found, err = memory.Of(conv).Recall(ctx, recording.question(misspell(q.Text)))
			if err != nil {
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

// question returns text as a question a day after the last message.
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
		atLeast("recall@10", 100*r.All.At10, 77),
		atLeast("recall@5", 100*r.All.At5, 70),
		atLeast("recall@20", 100*r.All.At20, 83),
		atLeast("MRR", r.All.MRR, 0.62),
		atLeast("recall@10 with a typo", 100*r.Typos.At10, 75),
	}
	for _, p := range r.Latency {
		if p.onSQLite > 0 {
			r.Targets = append(r.Targets, atMost(p.Shape+", p50 ms", p.P50, postgresTimes*p.onSQLite))
			continue
		}
		r.Targets = append(r.Targets, atMost(p.Shape+", p50 ms", p.P50, 5), atMost(p.Shape+", p99 ms", p.P99, 15))
	}
}
