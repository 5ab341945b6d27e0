package main

import (
	"maps"

	"cairn/compactor/summarize"
	"cairn/internal/tokens"
	"cairn/internal/words"
	"cairn/llm"
	"cairn/prompts"
	"cairn/simulate"
)

// promptResult is the result for a recording, or for all: sums until mean makes shares and means of them.
type promptResult struct {
	Language     string         `json:"language"`
	Recording    string         `json:"recording"`
	Spans        int            `json:"spans"`
	Failed       int            `json:"failed"`
	Questions    int            `json:"questions"`
	Answer       float64        `json:"answer"`
	Evidence     float64        `json:"evidence"`
	Cited        float64        `json:"cited"`
	Lines        int            `json:"lines"`
	NoEvidence   int            `json:"no_evidence"`
	Contradicted int            `json:"contradicted"`
	Memories     float64        `json:"memories"`
	Length       float64        `json:"length"`
	Requests     float64        `json:"requests"`
	Prompt       float64        `json:"prompt"`
	Output       float64        `json:"output"`
	Instructions int            `json:"instructions"`
	Refusals     map[string]int `json:"refusals"`
	Failures     map[string]int `json:"failures"`

	told, cited simulate.Share
}

// spanResult is what the model made of one span.
type spanResult struct {
	summary  summarize.Summary
	target   int   // tokens that the summary should have
	failure  error // nil: there is a summary
	memories []string
	requests int
	usage    llm.Usage
	refusals []string
}

// count adds one span's result. asked are the questions that the span answers.
func (r *promptResult) count(s spanResult) {
	r.Spans++
	for _, why := range s.refusals {
		r.Refusals = increment(r.Refusals, why)
	}
	if s.failure != nil {
		r.Failed++
		r.Failures = increment(r.Failures, reasonKey(s.failure.Error()))
		return
	}
	lines, unsupported := supportOf(s.summary)
	r.Lines += lines
	r.NoEvidence += unsupported
	r.Contradicted += s.summary.Dropped
	r.Memories += float64(len(s.memories))
	r.Length += float64(tokens.Estimate(s.summary.Text)) / float64(max(s.target, 1))
	r.Requests += float64(s.requests)
	r.Prompt += float64(s.usage.Prompt)
	r.Output += float64(s.usage.Completion)
}

// supportOf returns how many lines of a summary claim something, and how many of them rest on no message.
func supportOf(s summarize.Summary) (lines, unsupported int) {
	for _, line := range s.Lines {
		if !line.HasEvidence() {
			unsupported++
		}
	}
	return len(s.Lines), unsupported
}

// ask adds a question about a span. needs are the words of its answer, text what the summary and the memories say.
func (r *promptResult) ask(question asked, text string, tells, cites func(seq int64) bool) {
	r.Questions++
	said := simulate.SetOf(words.Content(text))
	need := words.Content(question.AnswerText())
	has := func(term string) bool { return said[term] }
	r.told.Ask(need, has, question.seqs, tells)
	r.cited.Ask(nil, has, question.seqs, cites)
}

// add adds other's sums.
func (r *promptResult) add(other promptResult) {
	r.Spans += other.Spans
	r.Failed += other.Failed
	r.Questions += other.Questions
	r.Lines += other.Lines
	r.NoEvidence += other.NoEvidence
	r.Contradicted += other.Contradicted
	r.Memories += other.Memories
	r.Length += other.Length
	r.Requests += other.Requests
	r.Prompt += other.Prompt
	r.Output += other.Output
	r.told.Add(other.told)
	r.cited.Add(other.cited)
	for why, n := range other.Refusals {
		r.Refusals = add(r.Refusals, why, n)
	}
	for why, n := range other.Failures {
		r.Failures = add(r.Failures, why, n)
	}
}

// mean returns the result with means and shares in place of the sums.
func (r promptResult) mean() promptResult {
	summarized := float64(max(r.Spans-r.Failed, 1))
	for _, sum := range []*float64{&r.Memories, &r.Length, &r.Requests, &r.Prompt, &r.Output} {
		*sum /= summarized
	}
	r.told.Mean()
	r.cited.Mean()
	r.Answer = r.told.Answer
	r.Evidence = r.told.Evidence
	r.Cited = r.cited.Evidence
	r.Instructions = tokens.Estimate(prompts.In(r.Language).Worker)
	r.Refusals = maps.Clone(r.Refusals)
	r.Failures = maps.Clone(r.Failures)
	return r
}

func increment(counts map[string]int, what string) map[string]int { return add(counts, what, 1) }

func add(counts map[string]int, what string, n int) map[string]int {
	if counts == nil {
		counts = map[string]int{}
	}
	counts[what] += n
	return counts
}
