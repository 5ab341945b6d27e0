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

// requests has what an attempt at a turn builds requests from, and what it keeps from one to the next.
type requests struct {
	*site
	*loop
	*answerer
	question int64        // seq of the turn
	task     *task.Run    // that the conversation is; nil: none
	spend    func() error // called before each model call; an error stops the call

	limit      int // of calls: a task has a limit for all its parts
	left       int // calls it could make before the last request
	overflows  int
	completion int            // tokens of the last answer, including its reasoning; 0: not counted
	sent       []llm.Message  // the messages of the last request, those withheld included
	revision   int            // of its prompt
	loaded     map[int64]bool // the pictures it showed
	reasoned   bool           // a request was refused because earlier reasoning was missing
	plain      bool           // it had the tools that requests usually have
	tooled     bool           // it had tools
}

// setLimit sets how many calls an attempt may make: a task those that its earlier parts left.
func (q *requests) setLimit(ctx context.Context) (err error) {
	q.limit = maxCalls
	if q.task != nil {
		q.limit, err = q.task.CallsLeft(ctx, q.agent.Tasks)
	}
	return err
}

// callsLeft returns how many calls a task may still make; in the last one its model must answer.
func (q *requests) callsLeft(left int) int { return q.limit - (maxCalls - left) }

// isOver reports whether a part of a task has made enough calls, or filled enough of the window.
func (a *attempt) isOver(left int) bool {
	if a.task == nil || len(a.messages) == 0 {
		return false
	}
	cost := 0
	for _, m := range a.messages {
		cost += m.Tokens
	}
	return task.PartIsOver(maxCalls-left, cost, a.window.last()) || a.callsLeft(left) <= 0
}

// request builds the next request.
func (a *attempt) request(_ context.Context, left int) (llm.Request, error) {
	a.current.Reset()
	if a.isOver(left) {
		return llm.Request{}, errPart
	}
	a.steer()
	a.window.lookUp(a.life)
	var prompt compactor.Prompt
	var err error
	a.do(func(e *compactor.Compactor) {
		prompt, err = e.Request(a.life) // /stop must not cancel what it writes
	})
	messages := prompt.Messages
	a.loaded = a.pictures.load(a.life, messages)
	facts := a.window.learned().Facts()
	if a.inWords {
		messages, _ = llm.InWords(messages)
	} else {
		messages = llm.UnreasonedInWords(messages, facts.WantsReasoning)
	}
	if a.standsIn && err == nil {
		prompt, err = a.fitting(prompt)
	}
	a.sent = messages
	a.revision = prompt.Revision
	a.left = left
	req := llm.Request{
		Messages: a.filter.apply(messages), Head: prompt.Head, CacheKey: cacheKey(a.name),
		MaxTokens: prompt.MaxTokens, Spare: prompt.Spare, Tools: a.tools, Speaker: a.agent.ID, Reasoning: a.agent.Reasoning, Spend: a.spend,
	}
	noTools := facts.RefusesTools
	last := left == 1 || a.task != nil && a.callsLeft(left) == 1
	a.plain = (!last || noTools) && !a.inWords && !a.standsIn && len(a.filter.withheld) == 0 // otherwise the count is for a different prompt
	if last || noTools {
		req.Tools = nil
	}
	a.tooled = len(req.Tools) > 0
	return req, err
}

// retry reports whether a failed request is worth repeating, and prepares the next one.
func (a *attempt) retry(_ context.Context, err error) bool {
	learned := a.window.learned()
	model := a.agent.Model.Name()
	failed, _ := errors.AsType[*llm.Error](err)
	switch kind := llm.KindOf(err); {
	case llm.RefusesTools(err) && a.tooled:
		if !learned.Facts().RefusesTools { // a worker may have learned it earlier
			a.log.Warn("model_without_tools", "effect", "answers without memory_search and recall", "model", model)
			learned.NoTools()
		}
		return true
	case llm.WantsReasoning(err) && !a.reasoned:
		a.reasoned = true // this is learned now: the next request includes the available reasoning
		return true
	case len(a.loaded) > 0 && llm.RefusesImages(err):
		a.pictures.refuse(a.loaded, err)
		return true
	case kind == llm.KindFiltered:
		return a.filter.withhold(a.sent, a.revision, fmt.Sprintf("[#%d ", a.question))
	case kind == llm.KindBadRequest && (failed.Status == http.StatusBadRequest || failed.Status == http.StatusUnprocessableEntity):
		// It was understood, and perhaps refused for its tool calls: from now on they are text, unless that was not the cause.
		_, a.inWords = llm.InWords(a.sent)
		if a.inWords {
			a.log.Info("tools_refused", "effect", "earlier tool use is sent as text", "model", model, "error", err)
		}
		return a.inWords
	case kind != llm.KindOverflow || a.standsIn || a.overflows >= maxOverflows(failed):
		return false
	}
	a.overflows++
	a.window.lookUp(a.life) // the model has learned from the error
	return ask(a.loop, func(e *compactor.Compactor) bool {
		if a.plain {
			e.Reported(llm.Usage{Prompt: llm.PromptOf(err)})
		}
		return e.Overflow(a.life, a.overflows)
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
func (a *attempt) accepted() {
	if found := a.filter.accept(a.sent, a.revision); found > 0 {
		a.log.Info("messages_withheld", "messages", found, "model", a.agent.Model.Name())
	}
}
