package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"cairn/channel"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/memory"
	"cairn/simulate"
	"cairn/store"
)

const factsHelp = `Facts asks each question of the recordings of DIR as the next message of its conversation, of which
the model sees nothing, and measures what the context of that turn quotes: ten messages and ten
memories, and what it would quote without memories. Both have the %d tokens of recall_tokens.

The memories of NAME.jsonl are those in NAME.facts.jsonl, one JSON object a line, as the worker's
model gives them to memory_save: content, kind, about, attribute, value, since, until, also, and
messages with the ids that say it. They pass the same checks: "refused" counts those that do not.
Where there is no such file, --model reads spans of the conversation by the worker's prompt, which
costs what its provider charges; without --model the built-in extractor picks sentences. As in a
chat, the extractor also does it for a span of which the model saves nothing, or which it fails to
summarize; "failed" counts the latter.

evidence  share of the messages with the answer that are quoted, or from which a quoted memory is
answer    share of the words of the answer that are quoted: stems, without stop words
tokens    of what is quoted
gain      what is quoted with memories, less what is without

Means are over the questions; low and high are the ends of the 95 %% confidence interval of evidence.

` + recordingsHelp

// What a turn quotes, by its defaults, and what it would without memories.
const recallTokens = 600

var (
	withoutFacts = channel.RecallLimits{Messages: 10, Tokens: recallTokens}
	withFacts    = channel.RecallLimits{Memories: 10, Messages: 10, Tokens: recallTokens}
)

// factOptions are the flags of the benchmark.
type factOptions struct {
	modelServer
	span int // messages that the model, or the extractor, reads at a time
}

func newFacts() *benchmark {
	var o factOptions
	b := newBenchmark("facts DIR", "How much evidence memories bring into a prompt", fmt.Sprintf(factsHelp, recallTokens), func(ctx context.Context, s *screen, dirs []string) (result, error) {
		return measureFacts(ctx, s, dirs[0], o)
	})
	o.addTo(b, "`NAME` of the model that writes the memories which no file has")
	b.integer(&o.span, "span", 60, 5, 2000, "`N` messages that are read at a time")
	return b
}

// factResults is the result.
type factResults struct {
	Recordings []factResult `json:"recordings"`
	Quoted     []quotedMean `json:"quoted"`
	targets
}

// factResult says which memories a recording has, or all.
type factResult struct {
	Recording string `json:"recording"`
	Source    string `json:"memories_by"`
	Memories  int    `json:"memories"`
	Refused   int    `json:"refused"`
	Spans     int    `json:"spans"`
	Failed    int    `json:"failed"`
	Questions int    `json:"questions"`

	before, after quoted
}

// quoted is what is quoted for each question. Answers without words have no share.
type quoted struct{ evidence, answer, tokens []float64 }

// quotedMean is what is quoted for a question on average, or the difference between two of these.
type quotedMean struct {
	Recording string  `json:"recording"`
	Quoted    string  `json:"quoted"`
	Evidence  float64 `json:"evidence"`
	Low       float64 `json:"low"` // lower end of its 95 % confidence interval
	High      float64 `json:"high"`
	Answer    float64 `json:"answer"`
	Tokens    float64 `json:"tokens"`
}

func measureFacts(ctx context.Context, s *screen, dir string, o factOptions) (r factResults, err error) {
	all, err := readRecordings(dir)
	if err != nil {
		return r, err
	}
	db, err := openStore(ctx, inMemory())
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	total := factResult{Recording: "all"}
	for _, recording := range all {
		t := factTrial{factOptions: o, dir: dir, store: db, recording: recording}
		one, err := t.measure(ctx, s)
		if err != nil {
			return r, fmt.Errorf("%s: %w", recording.name, err)
		}
		total.add(one)
		r.add(one)
	}
	if len(all) > 1 {
		r.add(total)
	}
	return r, nil
}

// add adds a recording with its means.
func (r *factResults) add(one factResult) {
	r.Recordings = append(r.Recordings, one)
	gain := one.after.less(one.before)
	r.Quoted = append(r.Quoted, one.before.mean(one.Recording, "messages"), one.after.mean(one.Recording, "with memories"), gain.mean(one.Recording, "gain"))
}

// add adds the questions of another recording.
func (r *factResult) add(o factResult) {
	if r.Source != "" && r.Source != o.Source {
		o.Source = "several"
	}
	r.Source = o.Source
	r.Memories += o.Memories
	r.Refused += o.Refused
	r.Spans += o.Spans
	r.Failed += o.Failed
	r.Questions += o.Questions
	r.before.add(o.before)
	r.after.add(o.after)
}

func (q *quoted) add(o quoted) {
	q.evidence = append(q.evidence, o.evidence...)
	q.answer = append(q.answer, o.answer...)
	q.tokens = append(q.tokens, o.tokens...)
}

// less returns the differences from another one of the same questions.
func (q quoted) less(o quoted) quoted {
	return quoted{differences(q.evidence, o.evidence), differences(q.answer, o.answer), differences(q.tokens, o.tokens)}
}

func differences(of, from []float64) []float64 {
	all := make([]float64, len(of))
	for i := range of {
		all[i] = of[i] - from[i]
	}
	return all
}

func (q quoted) mean(recording, what string) quotedMean {
	m := quotedMean{Recording: recording, Quoted: what, Evidence: mean(q.evidence), Answer: mean(q.answer), Tokens: mean(q.tokens)}
	m.Low, m.High = interval(q.evidence)
	return m
}

// ask asks all questions in a conversation.
func (r *factResult) ask(ctx context.Context, conv *store.Conversation, of recording) error {
	memories, _, err := memory.Of(conv).List(ctx, memory.Filter{State: "known"})
	if err != nil {
		return err
	}
	sources := make(map[int64][]int64)
	for _, m := range memories {
		sources[m.ID] = m.Sources
	}
	r.Memories = len(memories)
	for _, q := range of.asked {
		if !q.hasAnswer() {
			continue
		}
		r.Questions++
		question := of.question(q.Text)
		if err := r.before.ask(ctx, conv, q, question, sources, withoutFacts); err != nil {
			return err
		}
		if err := r.after.ask(ctx, conv, q, question, sources, withFacts); err != nil {
			return err
		}
	}
	return nil
}

// numbered matches what a quote adds to the words: the numbers of memories and messages.
var numbered = regexp.MustCompile(`(?m)^- memory \d+|#\d+`)

// ask adds what is quoted for one question. sources are the messages of each memory.
func (q *quoted) ask(ctx context.Context, conv *store.Conversation, asked asked, question memory.Question, sources map[int64][]int64, most channel.RecallLimits) error {
	told, err := channel.ReadRecalled(ctx, conv, question, most)
	if err != nil {
		return err
	}
	seqs := slices.Clone(told.Quotes.Messages)
	for _, id := range told.Quotes.Memories {
		seqs = append(seqs, sources[id]...)
	}
	said := simulate.SetOf(words.Content(numbered.ReplaceAllString(told.Text, "")))
	need := words.Content(asked.AnswerText())
	var one simulate.Share
	one.Ask(need, func(term string) bool { return said[term] }, asked.seqs, func(seq int64) bool { return slices.Contains(seqs, seq) })
	q.evidence = append(q.evidence, one.Evidence)
	q.tokens = append(q.tokens, float64(tokens.Estimate(told.Text)))
	if len(need) > 0 {
		q.answer = append(q.answer, one.Answer)
	}
	return nil
}
