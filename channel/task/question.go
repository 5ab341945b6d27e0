package task

import (
	"context"
	"encoding/json"
	"slices"

	"cairn/compactor"
	"cairn/internal/secrets"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
)

// "@id question": another agent answers one question within the turn that asks it.

// Lookups are the tools with which that agent may look things up in the conversation.
var Lookups = []string{"memory_search", "recall", "expand"}

// Question is what another agent is asked: a task of one part that is not stored, so that a deletion finds nothing of its briefing.
type Question struct {
	Asker     Asker
	Agent     string // id of the agent, whose are the next six
	Model     llm.Model
	Fallback  []llm.Model  // answer when Model's server fails; the asker then replaces Model and Learned
	Learned   *llm.Learned // of the model
	Prompt    string       // system prompt
	MaxOutput int          // tokens
	Reasoning string
	Records   *store.Conversation // in which it is asked
	Turn      int64               // in which it is asked

	request   llm.Request   // without its messages; no tools: the model, or the server, accepts none
	budget    int           // of the briefing, in tokens; the rest is for what the agent looks up
	messages  []llm.Message // of the next request; nil: the briefing is to be written
	overflows int
}

// Asker is what a question needs of the turn that asks it.
type Asker interface {
	// Brief writes a briefing of the conversation that ends with the question, in about so many tokens.
	Brief(tokens int) (string, error)
	// Outdated reports whether a message was edited or deleted since the last call.
	Outdated() bool
}

// Loop returns a loop that answers the question, from the start.
func (q *Question) Loop(ctx context.Context, spend func() error) llm.Loop {
	window := q.Model.Window(ctx).Tokens
	reserve := compactor.Reserve(q.MaxOutput, window)
	q.request = llm.Request{
		MaxTokens: reserve, Spare: max((window-reserve)/4, 1), Tools: q.lookups(window),
		Speaker: q.Agent, Reasoning: q.Reasoning, Spend: spend,
	}
	q.budget = (window - reserve - compactor.FrameCost(q.Prompt, q.request.Tools)) * 6 / 10
	q.messages = nil
	q.overflows = 0
	return llm.Loop{Model: q.Model, MaxCalls: partCalls, Request: q.next, Record: q.record, Retry: q.retry}
}

// lookups returns the agent's tools: it reads what the conversation remembers, and adds nothing.
func (q *Question) lookups(window int) []llm.Tool {
	if q.Learned.Facts().RefusesTools {
		return nil
	}
	all := memory.Of(q.Records).Tools(memory.ToolOptions{
		Turn:   func() int64 { return q.Turn },
		Budget: func() int { return window / memory.SearchShare },
	})
	all = slices.DeleteFunc(all, func(tool llm.Tool) bool { return !slices.Contains(Lookups, tool.Name) })
	for i := range all { // its model may belong to someone else
		look := all[i].Run
		all[i].Run = func(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
			answer, err := look(ctx, arguments)
			answer.Text = secrets.Mask(answer.Text)
			return answer, err
		}
	}
	return all
}

// next builds the next request.
func (q *Question) next(_ context.Context, left int) (llm.Request, error) {
	if q.Asker.Outdated() { // what the agent was given, and what it looked up, may have been deleted
		q.messages = nil
	}
	if q.messages == nil {
		briefing, err := q.Asker.Brief(q.budget >> q.overflows)
		if err != nil {
			return llm.Request{}, err
		}
		q.messages = []llm.Message{{Role: llm.RoleSystem, Text: q.Prompt}, {Role: llm.RoleUser, Text: briefing}}
	}
	req := q.request
	req.Messages = q.messages
	if left == 1 {
		req.Tools = nil
	}
	return req, nil
}

func (q *Question) record(calls llm.Message, results []llm.Message) {
	q.messages = append(append(q.messages, calls), results...)
}

// retry reports whether a failed request is worth repeating, and prepares the next one.
func (q *Question) retry(_ context.Context, failed error) bool {
	switch {
	case llm.RefusesTools(failed) && q.request.Tools != nil:
		q.Learned.NoTools()
		q.request.Tools = nil
	case llm.KindOf(failed) == llm.KindOverflow && q.overflows < 2:
		q.overflows++
		q.messages = nil
	default:
		return false
	}
	return true
}
