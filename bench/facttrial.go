package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"cairn/llm"
	"cairn/memory"
	"cairn/prompts"
	"cairn/store"
)

// factTrial measures the memories of one recording.
type factTrial struct {
	factOptions
	dir       string
	store     *tempStore
	recording recording
}

func (t factTrial) measure(ctx context.Context, s *screen) (r factResult, err error) {
	r.Recording = t.recording.name
	facts, err := readLines[map[string]any](os.DirFS(t.dir), t.recording.name+".facts.jsonl")
	var conv *store.Conversation
	switch {
	case err == nil:
		r.Source = "file"
		conv, err = t.store.conversation(ctx, "bench:facts/"+t.recording.name, t.recording.said)
		if err == nil {
			r.Refused, err = t.save(ctx, conv, facts)
		}
	case errors.Is(err, fs.ErrNotExist):
		conv, err = t.extract(ctx, s, &r)
	}
	if err != nil {
		return r, err
	}
	s.progress("%s: %d questions", r.Recording, len(t.recording.asked))
	return r, r.ask(ctx, conv, t.recording)
}

// save saves facts with the tool that models have, and returns how many it refuses.
func (t factTrial) save(ctx context.Context, conv *store.Conversation, facts []map[string]any) (refused int, err error) {
	place := make(map[any]int64, len(t.recording.said))
	for i, m := range t.recording.said {
		place[m.ID] = int64(i + 1)
	}
	end := int64(len(t.recording.said) + 1)
	tools := memory.Of(conv).Tools(memory.ToolOptions{Turn: func() int64 { return end }})
	save := tools[slices.IndexFunc(tools, func(tool llm.Tool) bool { return tool.Name == "memory_save" })]
	for n, fact := range facts {
		ids, _ := fact["messages"].([]any)
		seqs := make([]int64, len(ids))
		for i, id := range ids {
			seqs[i] = place[id]
			if seqs[i] == 0 {
				return refused, fmt.Errorf("fact %d comes from message %v, which is not there", n+1, id)
			}
		}
		if len(seqs) == 0 {
			return refused, fmt.Errorf("fact %d names no messages", n+1)
		}
		fact["messages"] = seqs
		arguments, err := json.Marshal(fact)
		if err != nil {
			return refused, err
		}
		_, err = save.Run(ctx, arguments)
		if ctx.Err() != nil {
			return refused, ctx.Err()
		}
		if err != nil {
			refused++
		}
	}
	return refused, nil
}

// extract has the model, or else the extractor, read the conversation as it grows.
func (t factTrial) extract(ctx context.Context, s *screen, r *factResult) (conv *store.Conversation, err error) {
	var model learningModel
	r.Source = "extractor"
	if t.model != "" {
		r.Source = t.model
		model, err = t.connect()
		if err != nil {
			return nil, err
		}
	}
	var failure error
	for span := range slices.Chunk(t.recording.said, t.span) {
		conv, err = t.store.conversation(ctx, "bench:facts/"+t.recording.name, span)
		if err != nil {
			return nil, err
		}
		s.progress("%s: %s has read %d spans", r.Recording, r.Source, r.Spans)
		one, err := summarizeAllBut(ctx, conv, 0, model, prompts.English)
		err = errors.Join(err, ctx.Err())
		if err != nil {
			return nil, err
		}
		r.Spans++
		if one.failure != nil {
			r.Failed++
			failure = one.failure
		}
	}
	if r.Spans == r.Failed && failure != nil {
		return nil, fmt.Errorf("%s summarized no span: %w", t.model, failure)
	}
	if conv == nil {
		return nil, errors.New("the recording is empty")
	}
	return conv, nil
}
