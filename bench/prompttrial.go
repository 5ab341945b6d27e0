package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"cairn/compactor"
	"cairn/compactor/judge"
	"cairn/compactor/summarize"
	"cairn/compactor/worker"
	"cairn/llm"
	"cairn/memory"
	"cairn/prompts"
	"cairn/simulate"
	"cairn/store"
)

// promptTrial measures the prompts of one language on one recording.
type promptTrial struct {
	promptOptions
	language  string
	model     learningModel
	store     *tempStore
	recording recording
	first     bool // nothing was measured yet
}

const (
	promptWindow   = 128_000 // of the chat's model, in tokens: no span is folded
	messagesBehind = 20      // messages after a span, for reference
)

// measure summarizes spans of the recording.
func (t promptTrial) measure(ctx context.Context, s *screen) (r promptResult, err error) {
	r = promptResult{Language: t.language, Recording: t.recording.name}
	begins := t.begins()
	rare := rarity(t.recording)
	for n, from := range begins {
		s.progress("%s, %s: span %d of %d", t.language, t.recording.name, n+1, len(begins))
		one, err := t.summarize(ctx, n, from)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return r, err
		}
		if t.first && n == 0 && one.failure != nil && !errors.As(one.failure, new(judge.Refusal)) {
			return r, fmt.Errorf("ask %s: %w", t.promptOptions.model, one.failure) // the others would fail likewise
		}
		r.count(one)
		if one.failure == nil {
			t.askAll(&r, one, rare, from)
		}
	}
	return r, nil
}

// begins returns where the spans begin: indexes of messages, evenly distributed.
func (t promptTrial) begins() (at []int) {
	whole := len(t.recording.said) / t.span
	n := min(whole, t.spans)
	for i := range n {
		at = append(at, i*whole/n*t.span)
	}
	return at
}

// askAll asks the questions whose evidence lies in the span that begins at index from.
func (t promptTrial) askAll(r *promptResult, one spanResult, rare simulate.Rarity, from int) {
	told := simulate.NewTold(rare, "a: "+strings.ReplaceAll(one.summary.Text, "\n", "\na: ")) // whoever a line names
	text := one.summary.Text + "\n" + strings.Join(one.memories, "\n")
	for _, q := range t.recording.asked {
		if q.Category == simulate.NoAnswer || len(q.seqs) == 0 || q.seqs[0] <= int64(from) || q.seqs[len(q.seqs)-1] > int64(from+t.span) {
			continue
		}
		tells := func(seq int64) bool { return told.Tells("a", body(t.recording.said[seq-1])) }
		cites := func(seq int64) bool { return one.cites(seq - int64(from)) }
		r.ask(q, text, tells, cites)
	}
}

// cites reports whether a line of the summary rests on a message, by its number in the span's conversation.
func (s spanResult) cites(seq int64) bool {
	for _, line := range s.summary.Lines {
		for _, cited := range line.Seqs {
			if cited == seq {
				return true
			}
		}
	}
	return false
}

// summarize has the worker summarize the span that begins at index from, in a conversation of its own.
func (t promptTrial) summarize(ctx context.Context, n, from int) (r spanResult, err error) {
	end := min(from+t.span+messagesBehind, len(t.recording.said))
	name := fmt.Sprintf("bench:prompts/%s %s %d", t.language, t.recording.name, n)
	conv, err := t.store.conversation(ctx, name, t.recording.said[from:end])
	if err != nil {
		return r, err
	}
	r, err = summarizeAllBut(ctx, conv, end-from-t.span, t.model, t.language)
	if err != nil {
		return r, err
	}
	r.memories, err = savedBy(ctx, conv)
	return r, err
}

// summarizeAllBut has a model summarize a conversation but for its last messages; without a model the extractive summarizer does.
func summarizeAllBut(ctx context.Context, conv *store.Conversation, last int, model learningModel, language string) (spanResult, error) {
	run := &promptRun{ctx: ctx}
	policy := compactor.DefaultPolicy()
	policy.KeepFirst = 0
	policy.KeepLastN = last
	var worker llm.Model
	if model != nil {
		worker = observedModel{model, run}
		run.failure = errors.New("nothing was old enough to summarize")
	}
	c, err := compactor.Open(ctx, compactor.Options{
		Records: memory.Of(conv).Records(), Window: func() int { return promptWindow },
		Policy: func() compactor.Policy { return policy },
		System: prompts.In(language).System, Language: language,
		Worker: worker, Spend: run.spend, Spent: run.spent, Strategy: run.strategy, Log: slog.New(run),
	})
	if err != nil {
		return run.spanResult, err
	}
	defer c.Close()
	c.Compact(compactor.Requested{Trigger: compactor.OnManual})
	for c.Busy() {
		for _, work := range c.Work() {
			c.Done(work.Run())
		}
	}
	return run.spanResult, nil
}

// savedBy returns the memories that the worker's model saved in a conversation.
func savedBy(ctx context.Context, conv *store.Conversation) (contents []string, err error) {
	all, _, err := memory.Of(conv).List(ctx, memory.Filter{})
	for _, m := range all {
		if m.By == string(compactor.ByWorker) && m.Conversation == conv.Name() {
			contents = append(contents, m.Content)
		}
	}
	return contents, err
}

// promptRun observes one compaction. All of it runs on one goroutine, but for records of the log.
type promptRun struct {
	spanResult
	ctx  context.Context
	made bool // the worker has been asked
}

var _ slog.Handler = (*promptRun)(nil)

func (r *promptRun) spend(counts bool) error {
	if counts {
		r.requests++
	}
	return nil
}

func (r *promptRun) spent(_ string, u llm.Usage) {
	r.usage.Prompt += u.Prompt
	r.usage.Completion += u.Completion
}

// strategy returns the named strategy, whose first summary is observed.
func (r *promptRun) strategy(name string) worker.Strategy {
	return observedStrategy{worker.StrategyOf(name), r}
}

type observedStrategy struct {
	worker.Strategy
	run *promptRun
}

func (o observedStrategy) Summarize(ctx context.Context, m worker.Material) (summarize.Summary, error) {
	if !m.ByModel || o.run.made { // the extractive summarizer, after a failure
		return o.Strategy.Summarize(ctx, m)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.run.ctx, cancel)()
	s, err := o.Strategy.Summarize(ctx, m)
	o.run.made = true
	o.run.summary = s
	o.run.target = m.Target
	o.run.failure = err
	return s, err
}

// observedModel is the model, whose requests show which summaries the worker sent back while they talked.
type observedModel struct {
	learningModel
	run *promptRun
}

func (o observedModel) Generate(ctx context.Context, req llm.Request, show func(string)) (llm.Response, error) {
	for _, m := range slices.Backward(req.Messages) {
		if m.Role != llm.RoleTool { // earlier results were in earlier requests
			break
		}
		why, failed := strings.CutPrefix(m.Text, "Error: ")
		if failed && m.Tool == "summarize" {
			o.run.refusals = append(o.run.refusals, reasonKey(why))
		}
	}
	return o.learningModel.Generate(ctx, req, show)
}

// The log says which summaries the worker refused at the end of an attempt, and why.

func (r *promptRun) Enabled(context.Context, slog.Level) bool { return true }

func (r *promptRun) Handle(_ context.Context, record slog.Record) error {
	if record.Message == "summary_refused" {
		record.Attrs(func(a slog.Attr) bool {
			if a.Key == "reason" {
				r.refusals = append(r.refusals, reasonKey(a.Value.String()))
			}
			return true
		})
	}
	return nil
}

func (r *promptRun) WithAttrs([]slog.Attr) slog.Handler { return r }

func (r *promptRun) WithGroup(string) slog.Handler { return r }

var digits = regexp.MustCompile(`[0-9]+`)

// reasonKey returns a reason in the form in which equal ones are counted: without what to do about it.
func reasonKey(reason string) string {
	reason, _, _ = strings.Cut(reason, "; ")
	return digits.ReplaceAllString(reason, "N")
}
