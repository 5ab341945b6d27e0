package channel

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cairn/channel/task"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/prompts"
)

// How a turn hands a question over to another agent, "@id question", and posts its answer in place.

var _ task.Asker = (*turn)(nil)

// calledAgent returns the question that the newest addressed message asks another agent; nil if it asks none.
func (t *turn) calledAgent() *task.Question {
	asked := t.addressed(t.Seq)
	if len(asked) == 0 {
		return nil
	}
	id, _ := chat.AgentCall(asked[len(asked)-1].Text)
	agent, known := t.agents().named(id)
	if id == "" || !known || id == t.agent.ID {
		return nil
	}
	return &task.Question{
		Asker: t, Records: t.records, Turn: t.Seq,
		Agent: id, Model: agent.Model, Fallback: agent.Fallback, Learned: llm.LearnedOf(agent.Model, nil), MaxOutput: agent.MaxOutput, Reasoning: agent.Reasoning,
		Prompt: strings.TrimSpace(agent.Instructions + "\n\n" + prompts.In(t.speaker().Language).Handover),
	}
}

// Brief writes the one message that the other agent gets.
func (t *turn) Brief(tokens int) (string, error) {
	asked := t.addressed(t.Seq) // they may have been edited
	if len(asked) == 0 {
		return "", errDeleted
	}
	question := asked[len(asked)-1]
	if id, text := chat.AgentCall(question.Text); id != "" {
		question.Text = text
	}
	var write func() string
	var err error
	t.do(func(e *compactor.Compactor) {
		write, err = e.Briefing(t.life, tokens, question)
	})
	if err != nil {
		return "", err
	}
	return write() + fmt.Sprintf("\n\n<now>\ntime: %s\n</now>", chat.ZonedTime(time.Now().Local())), nil
}

// Outdated reports whether a message was edited or deleted since the last call.
func (t *turn) Outdated() (outdated bool) {
	t.do(func(*compactor.Compactor) {
		outdated = t.changes.outdated
		t.changes.outdated = false
	})
	return outdated
}

// handOver lets the other agent answer. The answer begins with its name, for people and for the conversation's agent.
func (t *turn) handOver(ctx context.Context) (resp llm.Response, err error) {
	name := t.other.Agent + ": "
	loop := t.other.Loop(ctx, t.spend)
	loop.Count = t.counted
	next := loop.Request
	loop.Request = func(ctx context.Context, left int) (llm.Request, error) {
		t.attempt.current.Reset()
		return next(ctx, left)
	}
	loop.Show = func(delta string) {
		if t.attempt.current.Len() == 0 {
			delta = name + delta
		}
		t.attempt.stream(delta)
	}
	resp, err = t.progress.shown(loop).Run(ctx)
	resp.Message.Native = nil // the conversation uses a different model
	if text := strings.TrimSpace(resp.Message.Text); text != "" {
		resp.Message.Text = name + strings.TrimPrefix(text, name)
	}
	return resp, err
}
