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
	"cairn/store"
)

// Handover: "@id question" lets another agent answer that one question. It sees what the
// conversation's prompt contains, and its intermediate steps are dropped: only its answer is kept.

// handoverCalls is the most calls to the other agent's model.
const handoverCalls = 8

// handoverTools are the tools with which another agent may look things up.
var handoverTools = []string{"memory_search", "recall", "expand"}

// handover is a question to another agent.
type handover struct {
	agent    Agent
	question chat.Message
}

// calledAgent returns the other agent that the newest addressed message calls; nil if there is none.
func (c *conversation) calledAgent(turn store.Turn) *handover {
	asked := c.askedIn(turn)
	if len(asked) == 0 {
		return nil
	}
	m := asked[len(asked)-1]
	id, question := chat.AgentCall(m.Text)
	agent, known := c.hub.agents().named(id)
	if id == "" || !known || id == c.agent.ID {
		return nil
	}
	m.Text = question
	return &handover{agent, m}
}

// askedIn returns the messages of a turn that are addressed to the bot.
func (c *conversation) askedIn(turn store.Turn) []chat.Message {
	return ask(c, func(e *compactor.Compactor) []chat.Message { return e.History().Asked(turn.Seq) })
}

// handOver lets the other agent answer.
func (c *conversation) handOver(ctx context.Context, r *reply, h *handover) (resp llm.Response, err error) {
	name := h.agent.ID + ": " // the answer begins with it, for people and for the conversation's agent
	window := h.agent.Model.Window(ctx).Tokens
	reserve := compactor.Reserve(h.agent.MaxOutput, window)
	system := strings.TrimSpace(h.agent.Instructions + "\n\n" + prompts.In(c.language()).Handover)
	tools := c.lookups(window, r.learnt)
	budget := (window - reserve - compactor.FrameCost(system, tools)) * 6 / 10 // the rest is for what it looks up
	briefing := ""
	overflows := 0
	var steps []llm.Message
	loop := llm.Loop{
		Model: h.agent.Model, MaxCalls: handoverCalls,
		Request: func(_ context.Context, left int) (req llm.Request, err error) {
			r.current.Reset()
			c.do(func(*compactor.Compactor) {
				if turn := c.turn.Load(); turn.outdated { // what it was given, and what it looked up, may have been deleted
					turn.outdated = false
					briefing = ""
					steps = nil
				}
			})
			if briefing == "" {
				briefing, err = c.briefing(h, budget>>overflows)
			}
			messages := []llm.Message{{Role: llm.RoleSystem, Text: system}, {Role: llm.RoleUser, Text: briefing}}
			req = llm.Request{
				Messages: append(messages, steps...), MaxTokens: reserve, Spare: max((window-reserve)/4, 1),
				Tools: tools, Speaker: h.agent.ID, Reasoning: h.agent.Reasoning, Spend: r.spend,
			}
			if left == 1 {
				req.Tools = nil
			}
			return req, err
		},
		Record: func(calls llm.Message, results []llm.Message) {
			steps = append(append(steps, calls), results...)
		},
		Retry: func(_ context.Context, failed error) bool {
			switch {
			case llm.RefusesTools(failed) && tools != nil:
				r.learnt.NoTools()
				tools = nil
			case llm.KindOf(failed) == llm.KindOverflow && overflows < 2:
				overflows++
				briefing = ""
				steps = nil
			default:
				return false
			}
			return true
		},
		Count: func(u llm.Usage) { c.count(store.ForTurn, h.agent.Model.Name(), u) },
		Show: func(delta string) {
			if r.current.Len() == 0 {
				r.current.WriteString(name)
			}
			r.current.WriteString(delta)
			c.show(r)
		},
	}
	resp, err = loop.Run(ctx)
	resp.Message.Native = nil // the conversation uses a different model
	if text := strings.TrimSpace(resp.Message.Text); text != "" {
		resp.Message.Text = name + strings.TrimPrefix(text, name)
	}
	return resp, err
}

// briefing builds the one message the other agent gets.
func (c *conversation) briefing(h *handover, tokens int) (string, error) {
	var write func() string
	var err error
	c.do(func(e *compactor.Compactor) {
		write, err = e.Briefing(c.hub.ctx, tokens, h.question)
	})
	if err != nil {
		return "", err
	}
	return write() + fmt.Sprintf("\n\n<now>\ntime: %s\n</now>", chat.ZonedTime(time.Now().Local())), nil
}

// lookups returns the other agent's tools: it reads what this conversation remembers, and adds nothing.
func (c *conversation) lookups(window int, learnt *llm.Learnt) []llm.Tool {
	if learnt.Facts().RefusesTools {
		return nil
	}
	all := memory.Of(c.records).Tools(memory.ToolOptions{Turn: c.turnSeq, Budget: func() int { return window / searchShare }})
	all = slices.DeleteFunc(all, func(t llm.Tool) bool { return !slices.Contains(handoverTools, t.Name) })
	for i := range all { // its model may belong to someone else
		look := all[i].Run
		all[i].Run = func(ctx context.Context, arguments json.RawMessage) (string, error) {
			answer, err := look(ctx, arguments)
			return secrets.Mask(answer), err
		}
	}
	return all
}
