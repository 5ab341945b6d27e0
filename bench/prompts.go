package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn/prompts"
)

const promptsHelp = `Prompts lets a real model summarize spans of each recording of DIR with the real worker: its prompts, its
checks, its retries. It needs --model; the requests cost what the model's provider charges.

  go run ./bench prompts DIR --model qwen3 --base-url http://127.0.0.1:11434/v1
  go run ./bench prompts DIR --model claude-haiku-4-5 --provider anthropic --languages en,de

The key of the provider's own address is read from OPENAI_API_KEY or ANTHROPIC_API_KEY, that of another
server from the variable that --key-env names. Run it before and after a change of prompts/, with the
same model and recordings.

Each span is a conversation of its own, so that a refused one changes no other. Means are over the spans
that were summarized, shares from 0 to 1.

  failed        spans without a summary; "failures" lists why
  questions     those whose evidence lies in one summarized span
  answer        share of the words of their answers that are in the summary or a memory of the span
  evidence      share of the messages with the answer of which the summary has two thirds of the words of
                a sentence, weighted by rarity, in one line; sentences under three words do not count
  cited         share of these messages that a line of the summary rests on
  lines         lines of all summaries; no evidence: those that rest on no message; contradicted: lines
                that were dropped because the messages they cite say something else
  memories      that the model saved, for each span
  length        tokens of a summary divided by the tokens it was asked for
  requests      to the model, for each span, with retries; prompt and output: their tokens, as the server
                counts them
  instructions  tokens of the worker's prompt, estimated
  refusals      summaries that the worker sent back, by reason

` + recordingsHelp

// promptOptions are the flags of the benchmark.
type promptOptions struct {
	modelServer
	languages []string
	span      int // messages
	spans     int // most spans of a recording
}

func newPrompts() *benchmark {
	var o promptOptions
	b := newBenchmark("prompts DIR", "What a real model makes of the worker's prompts", promptsHelp, func(ctx context.Context, s *screen, dirs []string) (result, error) {
		return measurePrompts(ctx, s, dirs[0], o)
	})
	o.addTo(b, "`NAME` of the model; required")
	b.Flags().StringSliceVar(&o.languages, "languages", []string{prompts.English}, "`CODE,…` languages of the prompts: "+strings.Join(prompts.Languages, ", "))
	b.integer(&o.span, "span", 60, 5, 2000, "`N` messages in a span")
	b.integer(&o.spans, "spans", 5, 1, 10_000, "`N` spans of a recording at most, evenly distributed")
	b.checks = append(b.checks, func() error { return wrongUse(b.Command, o.check()) })
	return b
}

func (o promptOptions) check() error {
	if o.model == "" {
		return errors.New("--model is missing: this benchmark asks a real model, e.g. --model qwen3 --base-url http://127.0.0.1:11434/v1")
	}
	for _, language := range o.languages {
		if !slices.Contains(prompts.Languages, language) {
			return fmt.Errorf("--languages %s: must be of %s", language, strings.Join(prompts.Languages, ", "))
		}
	}
	return nil
}

// promptResults is the result.
type promptResults struct {
	Model      string         `json:"model"`
	Window     int            `json:"window"`
	Messages   int            `json:"messages_in_a_span"`
	Recordings []promptResult `json:"recordings"`
	targets
}

func measurePrompts(ctx context.Context, s *screen, dir string, o promptOptions) (r promptResults, err error) {
	all, err := readRecordings(dir)
	if err != nil {
		return r, err
	}
	model, err := o.connect()
	if err != nil {
		return r, err
	}
	db, err := openStore(ctx, inMemory())
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	r = promptResults{Model: o.model, Window: model.Window(ctx).Tokens, Messages: o.span}
	for _, language := range o.languages {
		total := promptResult{Language: language, Recording: "all"}
		for _, recording := range all {
			t := promptTrial{promptOptions: o, language: language, model: model, store: db, recording: recording, first: len(r.Recordings) == 0}
			one, err := t.measure(ctx, s)
			if err != nil {
				return r, err
			}
			total.add(one)
			r.Recordings = append(r.Recordings, one.mean())
		}
		if len(all) > 1 {
			r.Recordings = append(r.Recordings, total.mean())
		}
	}
	return r, r.unmeasured()
}

// unmeasured returns an error if nothing was summarized: then the model cannot be reached, or does not do the work at all.
func (r promptResults) unmeasured() error {
	for _, one := range r.Recordings {
		if one.Spans > one.Failed {
			return nil
		}
	}
	why := "the recordings are empty"
	for _, one := range r.Recordings {
		for reason := range one.Failures {
			why = cmp.Or(reason, why)
		}
	}
	return fmt.Errorf("%s summarized no span: %s", r.Model, why)
}
