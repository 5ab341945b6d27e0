package channel

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"cairn/channel/task"
	"cairn/compactor"
	"cairn/llm"
)

// Building a turn's requests to the model, and handling failed ones.

// requests is what an attempt at a turn keeps from one request to the next.
type requests struct {
	limit      int // of calls: a task has a limit for all its parts
	left       int // calls it could make before the last request
	overflows  int
	completion int            // tokens of the last answer, including its reasoning; 0: not counted
	sent       []llm.Message  // the messages of the last request, those withheld included
	revision   int            // of its prompt
	pictures   map[int64]bool // the pictures it showed
	reasoned   bool           // a request was refused because earlier reasoning was missing
	plain      bool           // it had the tools that requests usually have
	tooled     bool           // it had tools
}

// callsLeft returns how many calls a task may still make; in the last one its model must answer.
func (q *requests) callsLeft(left int) int { return q.limit - (maxCalls - left) }

// isOver reports whether a part of a task has made enough calls, or filled enough of the window.
func (t *turn) isOver(left int) bool {
	if t.task == nil || len(t.attempt.messages) == 0 {
		return false
	}
	cost := 0
	for _, m := range t.attempt.messages {
		cost += m.Tokens
	}
	return task.PartIsOver(maxCalls-left, cost, t.window.last()) || t.attempt.callsLeft(left) <= 0
}

// request builds the next request.
func (t *turn) request(_ context.Context, left int) (llm.Request, error) {
	a := t.attempt
	a.current.Reset()
	if t.isOver(left) {
		return llm.Request{}, errPart
	}
	t.window.lookUp(t.life)
	var prompt compactor.Prompt
	var err error
	t.do(func(e *compactor.Compactor) {
		prompt, err = e.Request(t.life) // /stop must not cancel what it writes
	})
	messages := prompt.Messages
	a.pictures = t.pictures.load(t.life, messages)
	facts := t.window.learned().Facts()
	if t.inWords {
		messages, _ = llm.InWords(messages)
	} else {
		messages = llm.UnreasonedInWords(messages, facts.WantsReasoning)
	}
	a.sent = messages
	a.revision = prompt.Revision
	a.left = left
	req := llm.Request{
		Messages: t.filter.apply(messages), Head: prompt.Head, CacheKey: cacheKey(t.name),
		MaxTokens: prompt.MaxTokens, Spare: prompt.Spare, Tools: t.tools, Speaker: t.agent.ID, Reasoning: t.agent.Reasoning, Spend: t.spend,
	}
	noTools := facts.RefusesTools
	last := left == 1 || t.task != nil && a.callsLeft(left) == 1
	a.plain = (!last || noTools) && !t.inWords && len(t.filter.withheld) == 0 // otherwise the count is for a different prompt
	if last || noTools {
		req.Tools = nil
	}
	a.tooled = len(req.Tools) > 0
	return req, err
}

// retry reports whether a failed request is worth repeating, and prepares the next one.
func (t *turn) retry(_ context.Context, err error) bool {
	a := t.attempt
	learned := t.window.learned()
	model := t.agent.Model.Name()
	failed, _ := errors.AsType[*llm.Error](err)
	switch kind := llm.KindOf(err); {
	case llm.RefusesTools(err) && a.tooled:
		if !learned.Facts().RefusesTools { // a worker may have learned it earlier
			t.log.Warn("model_without_tools", "effect", "answers without memory_search and recall", "model", model)
			learned.NoTools()
		}
		return true
	case llm.WantsReasoning(err) && !a.reasoned:
		a.reasoned = true // this is learned now: the next request includes the available reasoning
		return true
	case len(a.pictures) > 0 && llm.RefusesImages(err):
		t.pictures.refuse(a.pictures, err)
		return true
	case kind == llm.KindFiltered:
		return t.filter.withhold(a.sent, a.revision, fmt.Sprintf("[#%d ", t.Seq))
	case kind == llm.KindBadRequest && (failed.Status == http.StatusBadRequest || failed.Status == http.StatusUnprocessableEntity):
		// It was understood, and perhaps refused for its tool calls: from now on they are text, unless that was not the cause.
		_, t.inWords = llm.InWords(a.sent)
		if t.inWords {
			t.log.Info("tools_refused", "effect", "earlier tool use is sent as text", "model", model, "error", err)
		}
		return t.inWords
	case kind != llm.KindOverflow || a.overflows >= maxOverflows(failed):
		return false
	}
	a.overflows++
	t.window.lookUp(t.life) // the model has learned from the error
	return ask(t.loop, func(e *compactor.Compactor) bool {
		if a.plain {
			e.Reported(llm.Usage{Prompt: llm.PromptOf(err)})
		}
		return e.Overflow(t.life, a.overflows)
	})
}

// maxOverflows returns how many requests of a turn may be repeated because they were too long: more if the server does
// not say how long they may be, because the window is then searched for.
func maxOverflows(refused *llm.Error) int {
	if refused.Limit > 0 {
		return 2
	}
	return 6
}

// accepted notes that the provider's filter accepted the last request.
func (t *turn) accepted() {
	if found := t.filter.accept(t.attempt.sent, t.attempt.revision); found > 0 {
		t.log.Info("messages_withheld", "messages", found, "model", t.agent.Model.Name())
	}
}
