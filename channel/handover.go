package channel

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

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
	owner
	site
	agent    Agent
	question chat.Message
	turn     int64           // seq of the turn that it belongs to
	changes  *changes        // of that turn
	learned  *llm.Learned    // of the other agent's model
	life     context.Context // ends when the hub closes

	system    string
	tools     []llm.Tool // nil: its model, or the server, accepts none
	window    int        // of its model, like the next in tokens
	reserve   int        // for its answer
	budget    int        // of the briefing; the rest is for what it looks up
	briefing  string     // "": to be written
	steps     []llm.Message
	overflows int
}

// calledAgent returns the question that the newest addressed message asks another agent; nil if it asks none.
func (t *turn) calledAgent() *handover {
	asked := askedIn(t, t.Seq)
	if len(asked) == 0 {
		return nil
	}
	m := asked[len(asked)-1]
	id, question := chat.AgentCall(m.Text)
	agent, known := t.named(id)
	if id == "" || !known || id == t.agent.ID {
		return nil
	}
	m.Text = question
	return &handover{
		owner: t, site: t.site, agent: agent, question: m, turn: t.Seq, changes: &t.changes,
		learned: llm.LearnedOf(agent.Model, new(llm.Learned)), life: t.life,
	}
}

// askedIn returns the messages of a turn that are addressed to the bot.
func askedIn(in owner, turn int64) []chat.Message {
	var asked []chat.Message
	in.do(func(e *compactor.Compactor) {
		for _, m := range e.View().Turn(turn) {
			if m.Addressed {
				asked = append(asked, *m.Message)
			}
		}
	})
	return asked
}

// handOver lets the other agent answer. The answer begins with its name, for people and for the conversation's agent.
func (t *turn) handOver(ctx context.Context) (resp llm.Response, err error) {
	h := t.other
	h.start(ctx, t.speaker().Language)
	name := h.agent.ID + ": "
	loop := llm.Loop{
		Model: h.agent.Model, MaxCalls: handoverCalls, Count: t.counted, Record: h.record, Retry: h.retry,
		Request: func(_ context.Context, left int) (llm.Request, error) {
			t.attempt.current.Reset()
			return h.request(left, t.spend)
		},
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

// start looks up how much the other model takes.
func (h *handover) start(ctx context.Context, language string) {
	h.window = h.agent.Model.Window(ctx).Tokens
	h.reserve = compactor.Reserve(h.agent.MaxOutput, h.window)
	h.system = strings.TrimSpace(h.agent.Instructions + "\n\n" + prompts.In(language).Handover)
	h.tools = h.lookups()
	h.budget = (h.window - h.reserve - compactor.FrameCost(h.system, h.tools)) * 6 / 10
	h.overflows = 0
	h.restart()
}

// lookups returns the other agent's tools: it reads what this conversation remembers, and adds nothing.
func (h *handover) lookups() []llm.Tool {
	if h.learned.Facts().RefusesTools {
		return nil
	}
	all := memory.Of(h.records).Tools(memory.ToolOptions{
		Turn:   func() int64 { return h.turn },
		Budget: func() int { return h.window / searchShare },
	})
	all = slices.DeleteFunc(all, func(tool llm.Tool) bool { return !slices.Contains(handoverTools, tool.Name) })
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

// restart drops what the other agent knows.
func (h *handover) restart() {
	h.briefing = ""
	h.steps = nil
}

// request builds the next request.
func (h *handover) request(left int, spend func() error) (req llm.Request, err error) {
	if ask(h, func(*compactor.Compactor) bool { return h.changes.takeOutdated() }) { // what it was given, and what it looked up, may have been deleted
		h.restart()
	}
	if h.briefing == "" {
		h.briefing, err = h.brief()
	}
	messages := []llm.Message{{Role: llm.RoleSystem, Text: h.system}, {Role: llm.RoleUser, Text: h.briefing}}
	req = llm.Request{
		Messages: append(messages, h.steps...), MaxTokens: h.reserve, Spare: max((h.window-h.reserve)/4, 1),
		Tools: h.tools, Speaker: h.agent.ID, Reasoning: h.agent.Reasoning, Spend: spend,
	}
	if left == 1 {
		req.Tools = nil
	}
	return req, err
}

// brief builds the one message that the other agent gets.
func (h *handover) brief() (string, error) {
	var write func() string
	var err error
	h.do(func(e *compactor.Compactor) {
		write, err = e.Briefing(h.life, h.budget>>h.overflows, h.question)
	})
	if err != nil {
		return "", err
	}
	return write() + fmt.Sprintf("\n\n<now>\ntime: %s\n</now>", chat.ZonedTime(time.Now().Local())), nil
}

func (h *handover) record(calls llm.Message, results []llm.Message) {
	h.steps = append(append(h.steps, calls), results...)
}

// retry reports whether a failed request is worth repeating, and prepares the next one.
func (h *handover) retry(_ context.Context, failed error) bool {
	switch {
	case llm.RefusesTools(failed) && h.tools != nil:
		h.learned.NoTools()
		h.tools = nil
	case llm.KindOf(failed) == llm.KindOverflow && h.overflows < 2:
		h.overflows++
		h.restart()
	default:
		return false
	}
	return true
}
