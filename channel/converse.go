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
	t.attempt.limit, err = t.maxCalls(ctx)
	if err != nil {
		return resp, err
	}
	loop := llm.Loop{
		Model: t.agent.Model, MaxCalls: maxCalls,
		Request: t.request, Record: t.record, Retry: t.retry, Report: t.report, Count: t.counted, Show: t.stream,
	}
	resp, err = loop.Run(ctx)
	left := t.attempt.left
	if err == nil && t.attempt.isEmpty(resp, t.Optional) && left > 1 && t.task == nil { // a second request often gets an answer; the calls of a task are counted
		loop.MaxCalls = left - 1
		resp, err = loop.Run(ctx)
	}
	if err == nil && resp.FinishReason != llm.FinishFilter {
		t.accepted()
	}
	return resp, err
}

// maxCalls returns how many calls an attempt may make: a task those that its earlier parts left.
func (t *turn) maxCalls(ctx context.Context) (int, error) {
	if t.task == nil {
		return maxCalls, nil
	}
	return t.task.CallsLeft(ctx, t.agent.Tasks)
}

// counted counts what a request used.
func (t *turn) counted(u llm.Usage) {
	model := t.agent.Model
	if t.other != nil {
		model = t.other.Model
	}
	t.usage.count(store.ForTurn, model.Name(), u)
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
	t.accepted()
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

// stream displays the next piece of the answer.
func (t *turn) stream(delta string) {
	t.attempt.current.WriteString(delta)
	t.show()
}

// show displays the answer so far, in larger steps the longer it is: each costs time in proportion.
func (t *turn) show() {
	a := t.attempt
	n := a.current.Len()
	if n > a.shown && n-a.shown < n/256 {
		return
	}
	a.shown = n
	if text := clean.WithoutNoReply(a.text(), true); text != "" {
		t.sender.show(a.writer, text)
	}
}
