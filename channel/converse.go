package channel

import (
	"context"
	"fmt"
	"slices"

	"cairn/channel/task"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/clean"
	"cairn/store"
)

// A turn's conversation with the model: its text, its calls and their results.

// converse lets the model answer, with tools, or the other agent that was called.
func (t *turn) converse(ctx context.Context) (resp llm.Response, err error) {
	defer t.recoverPanic(&err)
	ctx = llm.WithCallKeys(ctx, fmt.Sprintf("%s#%d", t.name, t.Seq))
	if t.other != nil {
		return t.handOver(ctx)
	}
	t.filter.start()
	a := t.attempt
	if err := a.setLimit(ctx); err != nil {
		return resp, err
	}
	loop := t.progress.shown(llm.Loop{
		Model: t.agent.Model, MaxCalls: maxCalls,
		Request: a.request, Record: t.record, Retry: a.retry, Report: t.report, Count: t.counted, Show: a.stream,
	})
	resp, err = loop.Run(ctx)
	if err == nil && a.isEmpty(resp, t.Optional) && a.left > 1 && t.task == nil { // a second request often gets an answer; the calls of a task are counted
		loop.MaxCalls = a.left - 1
		resp, err = loop.Run(ctx)
	}
	if err == nil && resp.FinishReason != llm.FinishFilter {
		a.accepted()
	}
	return resp, err
}

// counted counts what a request used.
func (t *turn) counted(u llm.Usage) {
	model := t.agent.Model
	if t.other != nil {
		model = t.other.Model
	}
	t.usage.count(store.ForTurn, model.Name(), u, t.payers...)
}

// report notes that a request succeeded, and how long its prompt was.
func (t *turn) report(u llm.Usage) {
	a := t.attempt
	a.overflows = 0
	a.completion = u.Completion
	t.do(func(e *compactor.Compactor) {
		t.changes.outdated = false
		if a.plain {
			e.Reported(u)
		}
	})
}

// record adds a message with calls, and their results.
func (t *turn) record(calls llm.Message, results []llm.Message) {
	t.attempt.accepted()
	calls.Text = clean.WithoutNoReply(calls.Text, false)
	t.attempt.add(calls.Text)
	t.add(calls, t.attempt.completion)
	for _, result := range results {
		t.add(result, 0, t.pictures.store(t.life, t.Seq, result)...)
	}
}

// add adds a message of the model or a tool; completion is the provider's count of it, 0: unknown.
func (t *turn) add(m llm.Message, completion int, pictures ...chat.Attachment) {
	t.do(func(e *compactor.Compactor) {
		if t.changes.outdated && slices.Contains(task.Lookups, m.Tool) {
			m.Text = "Error: what it found may have changed since. Call the tool again."
			m.Quotes = llm.Quotes{}
		}
		row := rowOf(m, e.View().Next, t.Seq, pictures...)
		if len(row.Native) > 0 {
			row.Reasoning = e.ReasoningOf(row, completion)
		}
		t.attempt.messages = append(t.attempt.messages, row)
		e.Add(row)
	})
}
