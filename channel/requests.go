package channel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"cairn/compactor"
	"cairn/llm"
)

// Building a turn's requests to the model, and handling failed ones.

// talk is the state that converse keeps between requests.
type talk struct {
	*conversation
	r            *reply
	most         int // most calls it may make: a task has a limit for all its parts
	left         int // calls it could make before the last request
	overflows    int
	completion   int            // tokens of the last answer, including its reasoning; 0: not counted
	sent         []llm.Message  // the messages of the last request, those withheld included
	revision     int            // of its prompt
	suspects     []string       // what is withheld because the provider's filter refused it without saying what
	pictures     map[int64]bool // the pictures it showed
	reasoned     bool           // a request was refused because earlier reasoning was missing
	plainRequest bool           // it had the tools that requests usually have
	tooled       bool           // it had tools
}

// request builds the next request.
func (t *talk) request(_ context.Context, left int) (llm.Request, error) {
	t.r.current.Reset()
	if t.partDone(left) {
		return llm.Request{}, errPart
	}
	t.window.lookUp(t.hub.ctx)
	var prompt compactor.Prompt
	var err error
	t.do(func(e *compactor.Compactor) {
		prompt, err = e.Request(t.hub.ctx) // /stop must not cancel what it writes
	})
	messages := prompt.Messages
	t.pictures = t.loadPictures(messages)
	facts := t.window.learnt().Facts()
	if t.inWords {
		messages, _ = llm.InWords(messages)
	} else {
		messages = llm.UnreasonedInWords(messages, facts.WantsReasoning)
	}
	t.sent = messages
	t.revision = prompt.Revision
	t.left = left
	req := llm.Request{
		Messages: t.filter.apply(messages), Head: prompt.Head, CacheKey: cacheKey(t.name),
		MaxTokens: prompt.MaxTokens, Spare: prompt.Spare, Tools: t.tools, Speaker: t.agent.ID, Reasoning: t.agent.Reasoning, Spend: t.r.spend,
	}
	noTools := facts.RefusesTools
	last := left == 1 || t.isTask() && t.callsLeft(left) == 1
	t.plainRequest = (!last || noTools) && !t.inWords && len(t.filter.withheld) == 0 // otherwise the count is for a different prompt
	if last || noTools {
		req.Tools = nil
	}
	t.tooled = len(req.Tools) > 0
	return req, err
}

// retry reports whether a failed request is worth repeating, and prepares the next one.
func (t *talk) retry(_ context.Context, err error) bool {
	learnt := t.window.learnt()
	model := t.agent.Model.Name()
	failed, _ := errors.AsType[*llm.Error](err)
	switch kind := llm.KindOf(err); {
	case llm.RefusesTools(err) && t.tooled:
		if !learnt.Facts().RefusesTools { // a worker may have learned it earlier
			t.log.Warn("model_without_tools", "effect", "answers without memory_search and recall", "model", model)
			learnt.NoTools()
		}
		return true
	case llm.WantsReasoning(err) && !t.reasoned:
		t.reasoned = true // this is learned now: the next request includes the available reasoning
		return true
	case len(t.pictures) > 0 && llm.RefusesImages(err):
		t.refused(t.pictures, err)
		return true
	case kind == llm.KindFiltered:
		return t.withhold()
	case kind == llm.KindBadRequest && (failed.Status == http.StatusBadRequest || failed.Status == http.StatusUnprocessableEntity):
		// It was understood, and perhaps refused for its tool calls: from now on they are text, unless that was not the cause.
		_, t.inWords = llm.InWords(t.sent)
		if t.inWords {
			t.log.Info("tools_refused", "effect", "earlier tool use is sent as text", "model", model, "error", err)
		}
		return t.inWords
	case kind != llm.KindOverflow || t.overflows >= mostOverflows(failed):
		return false
	}
	t.overflows++
	t.window.lookUp(t.hub.ctx) // the model has learned from the error
	return ask(t.conversation, func(e *compactor.Compactor) bool {
		if t.plainRequest {
			e.Reported(llm.Usage{Prompt: llm.PromptOf(err)})
		}
		return e.Overflow(t.hub.ctx, t.overflows)
	})
}

// mostOverflows returns how many requests of a turn may be repeated because they were too long: more if the server does
// not say how long they may be, because the window is then searched for.
func mostOverflows(refused *llm.Error) int {
	if refused.Limit > 0 {
		return 2
	}
	return 6
}

// A provider's filter reads the whole prompt, so one message that it refuses would end the
// conversation. Later requests contain a notice in its place; the transcript keeps it. The filter
// does not say which message it refuses: what it has not accepted yet is withheld, step by step.

const withheldNotice = "[System: the provider's filter refuses what stood here, so it is withheld]"

// promptFilter is what is known about the provider's filter; after a restart it is found again.
type promptFilter struct {
	withheld map[string]bool // the texts of messages that requests do not contain; an edited message has another text
	revision int             // of the last prompt that it accepted
	accepted int             // messages of it, and the answer
}

// apply returns messages with notices in the place of those withheld.
func (f *promptFilter) apply(messages []llm.Message) []llm.Message {
	if len(f.withheld) == 0 {
		return messages
	}
	messages = slices.Clone(messages)
	for i, m := range messages {
		if f.withheld[m.Text] {
			messages[i].Text = withheldNotice
			messages[i].Images = nil
		}
	}
	return messages
}

// accept notes that the filter accepted the last request.
func (t *talk) accept() {
	if len(t.suspects) > 0 {
		t.log.Info("messages_withheld", "messages", len(t.suspects), "model", t.agent.Model.Name())
	}
	maps.DeleteFunc(t.filter.withheld, func(text string, _ bool) bool { // it has left the prompt
		return !slices.ContainsFunc(t.sent, func(m llm.Message) bool { return m.Text == text })
	})
	t.filter.revision = t.revision
	t.filter.accepted = len(t.sent) + 1
	t.suspects = nil
}

// withhold has the next request lack more of what the filter may have refused, and reports whether
// there was more. If not, the question itself is at fault.
func (t *talk) withhold() bool {
	more := t.suspected()
	more = more[:min(3*len(t.suspects)+1, len(more))] // few requests, however long the prompt is
	t.suspects = append(t.suspects, more...)
	for _, text := range t.suspects {
		t.filter.withheld[text] = true
	}
	if len(more) == 0 {
		maps.DeleteFunc(t.filter.withheld, func(text string, _ bool) bool { return slices.Contains(t.suspects, text) })
	}
	return len(more) > 0
}

// suspected returns the texts of the refused request that the filter has not accepted before, without those withheld and
// the question: first people's messages that were not answered, the newest first, then all others.
func (t *talk) suspected() (texts []string) {
	start := 1 // behind the system prompt
	if t.revision == t.filter.revision && t.filter.accepted <= len(t.sent) {
		start = t.filter.accepted
	}
	spoken := func(i int) bool {
		return i < len(t.sent) && t.sent[i].Role == llm.RoleUser && strings.HasPrefix(t.sent[i].Text, "[#")
	}
	question := slices.IndexFunc(t.sent, func(m llm.Message) bool {
		return strings.HasPrefix(m.Text, fmt.Sprintf("[#%d ", t.r.turn.Seq))
	})
	var others []string
	for i := len(t.sent) - 1; i >= start; i-- {
		switch text := t.sent[i].Text; {
		case text == "" || t.filter.withheld[text] || spoken(i) && i >= question:
		case spoken(i) && spoken(i+1):
			texts = append(texts, text)
		default:
			others = append(others, text)
		}
	}
	return append(texts, others...)
}
