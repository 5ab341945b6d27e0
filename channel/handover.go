package channel

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/secrets"
	"cairn/llm"
	"cairn/memory"
	"cairn/prompts"
)

// Handover: "@id question" lets another agent answer that one question. It sees what the
// conversation's prompt contains, and its intermediate steps are dropped: only its answer is kept.

// handoverCalls is the max number of calls to the other agent's model.
const handoverCalls = 8

// handoverTools are the tools with which another agent may look things up.
var handoverTools = []string{"memory_search", "recall", "expand"}

// handover is a question to another agent, and how far it is.
type handover struct {
	agent    Agent
	question chat.Message

	system    string
	tools     []llm.Tool // nil: its model, or the server, accepts none
	window    int        // of its model, like the next in tokens
	reserve   int        // for its answer
	budget    int        // of the briefing; the rest is for what it looks up
	briefing  string     // "": to be written
	steps     []llm.Message
	overflows int
}

// calledAgent returns the other agent that the newest addressed message calls; nil if there is none.
func (t *turn) calledAgent() *handover {
	asked := t.asked()
	if len(asked) == 0 {
		return nil
	}
	m := asked[len(asked)-1]
	id, question := callOf(m.Text)
	agent, known := t.named(id)
	if id == "" || !known || id == t.agent.ID {
		return nil
	}
	m.Text = question
	return &handover{agent: agent, question: m}
}

// asked returns the messages of the turn that are addressed to the bot.
func (t *turn) asked() []chat.Message { return askedIn(t, t.Seq) }

func askedIn(in owner, turn int64) []chat.Message {
	return ask(in, func(e *compactor.Compactor) []chat.Message { return e.History().Asked(turn) })
}

// callOf splits "@id question". The id is empty if the text has another form.
func callOf(text string) (id, question string) {
	call, ok := strings.CutPrefix(strings.TrimSpace(text), "@")
	if !ok {
		return "", ""
	}
	if end := strings.IndexFunc(call, unicode.IsSpace); end >= 0 {
		call, question = call[:end], strings.TrimSpace(call[end:])
	}
	return strings.TrimRight(call, ",:;.!?"), question
}

// handOver lets the other agent answer.
func (t *turn) handOver(ctx context.Context) (resp llm.Response, err error) {
	h := t.other
	h.start(ctx, t.language(), t.lookups)
	name := h.prefix()
	loop := llm.Loop{
		Model: h.agent.Model, MaxCalls: handoverCalls, Count: t.counted, Record: h.record,
		Request: t.requestOther,
		Retry:   func(_ context.Context, failed error) bool { return h.retry(failed, t.learnt) },
		Show: func(delta string) {
			if t.attempt.current.Len() == 0 {
				delta = name + delta
			}
			t.stream(delta)
		},
	}
	resp, err = loop.Run(ctx)
	resp.Message.Native = nil // the conversation uses a different model
	if text := strings.TrimSpace(resp.Message.Text); text != "" {
		resp.Message.Text = name + strings.TrimPrefix(text, name)
	}
	return resp, err
}

// requestOther builds the next request to the other agent.
func (t *turn) requestOther(_ context.Context, left int) (req llm.Request, err error) {
	h := t.other
	t.attempt.current.Reset()
	outdated := false
	t.do(func(*compactor.Compactor) {
		outdated = t.changes.outdated
		t.changes.outdated = false
	})
	if outdated { // what it was given, and what it looked up, may have been deleted
		h.restart()
	}
	if h.briefing == "" {
		h.briefing, err = t.brief()
	}
	req = h.request(left)
	req.Spend = t.spend
	return req, err
}

// brief builds the one message that the other agent gets.
func (t *turn) brief() (string, error) {
	var write func() string
	var err error
	t.do(func(e *compactor.Compactor) {
		write, err = e.Briefing(t.life, t.other.budget>>t.other.overflows, t.other.question)
	})
	if err != nil {
		return "", err
	}
	return write() + fmt.Sprintf("\n\n<now>\ntime: %s\n</now>", chat.ZonedTime(time.Now().Local())), nil
}

// lookups returns the other agent's tools: it reads what this conversation remembers, and adds nothing.
func (t *turn) lookups(window int) []llm.Tool {
	if t.learnt.Facts().RefusesTools {
		return nil
	}
	all := memory.Of(t.records).Tools(memory.ToolOptions{
		Turn:   func() int64 { return t.Seq },
		Budget: func() int { return window / searchShare },
	})
	all = slices.DeleteFunc(all, func(tool llm.Tool) bool { return !slices.Contains(handoverTools, tool.Name) })
	for i := range all { // its model may belong to someone else
		look := all[i].Run
		all[i].Run = func(ctx context.Context, arguments json.RawMessage) (string, error) {
			answer, err := look(ctx, arguments)
			return secrets.Mask(answer), err
		}
	}
	return all
}

// prefix begins the answer, for people and for the conversation's agent.
func (h *handover) prefix() string { return h.agent.ID + ": " }

// start looks up how much the other model takes. tools returns the tools for a window.
func (h *handover) start(ctx context.Context, language string, tools func(window int) []llm.Tool) {
	h.window = h.agent.Model.Window(ctx).Tokens
	h.reserve = compactor.Reserve(h.agent.MaxOutput, h.window)
	h.system = strings.TrimSpace(h.agent.Instructions + "\n\n" + prompts.In(language).Handover)
	h.tools = tools(h.window)
	h.budget = (h.window - h.reserve - compactor.FrameCost(h.system, h.tools)) * 6 / 10
	h.overflows = 0
	h.restart()
}

// restart drops what the other agent knows.
func (h *handover) restart() {
	h.briefing = ""
	h.steps = nil
}

func (h *handover) request(left int) llm.Request {
	messages := []llm.Message{{Role: llm.RoleSystem, Text: h.system}, {Role: llm.RoleUser, Text: h.briefing}}
	req := llm.Request{
		Messages: append(messages, h.steps...), MaxTokens: h.reserve, Spare: max((h.window-h.reserve)/4, 1),
		Tools: h.tools, Speaker: h.agent.ID, Reasoning: h.agent.Reasoning,
	}
	if left == 1 {
		req.Tools = nil
	}
	return req
}

func (h *handover) record(calls llm.Message, results []llm.Message) {
	h.steps = append(append(h.steps, calls), results...)
}

// retry reports whether a failed request is worth repeating, and prepares the next one.
func (h *handover) retry(failed error, learnt *llm.Learnt) bool {
	switch {
	case llm.RefusesTools(failed) && h.tools != nil:
		learnt.NoTools()
		h.tools = nil
	case llm.KindOf(failed) == llm.KindOverflow && h.overflows < 2:
		h.overflows++
		h.restart()
	default:
		return false
	}
	return true
}
