package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

// wiredModel is a model, and what its provider's servers refuse.
type wiredModel struct {
	name  string
	wires []string // that its provider has; nil: chat completions

	needsResponses bool // no tools on chat completions
	completion     bool // max_completion_tokens on chat completions
	noForced       bool // no tool can be forced
	noTools        bool
	thinks         bool
}

var openAIWires = []string{llm.WireChat, llm.WireResponses}

// wiredModels are models one can buy or run in 2027.
var wiredModels = []wiredModel{
	{name: "gpt-6.1-sol", wires: openAIWires, needsResponses: true, completion: true, thinks: true},
	{name: "gpt-6-astra", wires: openAIWires, needsResponses: true, completion: true, thinks: true},
	{name: "gpt-6-sol", wires: openAIWires, needsResponses: true, completion: true, thinks: true},
	{name: "gpt-6-luna", wires: openAIWires, needsResponses: true, completion: true},
	{name: "gpt-5.6-terra", wires: openAIWires, needsResponses: true, completion: true, thinks: true},
	{name: "gpt-5.2", wires: openAIWires, completion: true},
	{name: "gpt-5-mini", wires: openAIWires, completion: true},
	{name: "gpt-4.1-mini", wires: openAIWires},
	{name: "claude-opus-5-5", wires: []string{llm.WireMessages}, noForced: true, thinks: true},
	{name: "claude-fable-5-1", wires: []string{llm.WireMessages}, noForced: true, thinks: true},
	{name: "claude-sonnet-4-6", wires: []string{llm.WireMessages}},
	{name: "claude-haiku-4-5", wires: []string{llm.WireMessages}},
	{name: "anthropic/claude-sonnet-5"},
	{name: "google/gemini-3-pro", thinks: true},
	{name: "deepseek-v4", thinks: true},
	{name: "qwen3:32b", thinks: true},
	{name: "gemma-2-9b-it", noTools: true},
	{name: "mistral-7b-instruct", noForced: true},
	{name: "llama-4-scout"},
	{name: "gpt-oss-20b", wires: openAIWires, thinks: true},
}

// open returns the model over a server: its own kind of one, or one that has this wire.
func (m wiredModel) open(server *llmtest.Server, wire string) (llm.Model, error) {
	speaks := []string{wire}
	if wire == wireAuto {
		if speaks = m.wires; speaks == nil {
			speaks = []string{llm.WireChat}
		}
	}
	server.Speak(speaks...)
	options := openai.Options{BaseURL: server.URL, APIKey: "bench", Model: m.name, Wire: wire, Window: wiresWindow, MaxRetries: -1}
	if slices.Equal(speaks, []string{llm.WireMessages}) { // as the address says
		return anthropic.New(options)
	}
	return openai.New(options)
}

// refusal is why the provider refuses a request to the model; "": it does not.
func (m wiredModel) refusal(r llmtest.Request) string {
	chatWith := r.Wire == llm.WireChat
	switch {
	case chatWith && m.needsResponses && len(r.Tools) > 0:
		return "Function tools with reasoning_effort are not supported for " + m.name + " in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."
	case chatWith && m.completion && r.Body["max_tokens"] != nil:
		return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
	case m.noTools && len(r.Tools) > 0:
		return m.name + " does not support tools"
	case m.noForced && r.Forced != "":
		return "Thinking may not be enabled when tool_choice forces tool use."
	}
	return ""
}

const (
	wiresWindow = 32_000
	wiresPlace  = "bench:server/wires"
	wiresAsks   = "Look up the harbour, please."
)

// answer plays the model: it uses a tool where it is asked to, and sums up.
func (m wiredModel) answer(x *llmtest.Exchange, strict bool) {
	if why := m.refusal(x.Request); strict && why != "" {
		x.Reject(http.StatusBadRequest, "invalid_request_error", why)
		return
	}
	if m.thinks {
		x.Think("They want something.")
	}
	last := x.Request.Last()
	switch {
	case offers(x.Request, "summarize"):
		x.Use("s1", "summarize", fmt.Sprintf(`{"summary":%q}`, shortSummary(x.Request.Messages[1].Text())))
	case strings.Contains(last.Text(), "Sum up messages"):
		x.Say(shortSummary(last.Text()))
	case last.Role == llm.RoleUser && strings.Contains(last.Text(), wiresAsks) && offers(x.Request, "recall"):
		x.Use("r1", "recall", `{"query":"harbour"}`)
	default:
		x.Say("The lanterns ", "are lit.")
	}
}

// on has a turn, a turn with a tool, and a compaction.
func (m wiredModel) on(ctx context.Context, wire string) (cell wired, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	server := llmtest.NewServer(func(x *llmtest.Exchange) { m.answer(x, wire == wireAuto) })
	defer server.Close()
	model, err := m.open(server, wire)
	if err != nil {
		return cell, err
	}
	b, err := openBot(ctx, inMemory(), channel.Options{Agent: func(string) channel.Agent { return agentOf(model, model) }})
	if err != nil {
		return cell, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	cell = wired{Model: m.name, Wire: wire, Failed: map[string]string{}}
	for i, part := range []func(context.Context, *bot, *llmtest.Server) error{chats, m.looksUp, compacts} {
		if why := part(ctx, b, server); why != nil {
			cell.Failed[wireParts[i]] = why.Error()
			b.connector.note(func() { b.connector.failure = nil })
		}
	}
	cell.Refused = server.Refusals()
	if w, ok := model.(llm.Wired); ok {
		cell.Took = w.Wire()
	}
	return cell, nil
}

// chats has a turn in which no tool is used.
func chats(ctx context.Context, b *bot, _ *llmtest.Server) error {
	_, err := b.say(ctx, wiresPlace, "Hello!")
	return err
}

// looksUp has a turn in which the model uses a tool, if its server takes any.
func (m wiredModel) looksUp(ctx context.Context, b *bot, server *llmtest.Server) error {
	if _, err := b.say(ctx, wiresPlace, wiresAsks); err != nil {
		return err
	}
	used := slices.ContainsFunc(server.Requests(), func(r llmtest.Request) bool { return r.Last().Role == llm.RoleTool })
	if !used && !m.noTools {
		return errors.New("the model got no result of its tool")
	}
	return nil
}

// compacts has a past summed up by the worker.
func compacts(ctx context.Context, b *bot, server *llmtest.Server) error {
	words := rand.New(rand.NewPCG(1, 1))
	for range 6 {
		if _, err := b.say(ctx, wiresPlace, text(words, 120)); err != nil {
			return err
		}
	}
	before := len(server.Requests())
	answer, err := b.command(ctx, wiresPlace, "/compact")
	if err != nil {
		return err
	}
	if err := b.connector.until(ctx, func() bool { return b.connector.ended[wiresPlace] > 0 }); err != nil {
		return err
	}
	if len(server.Requests()) == before {
		return fmt.Errorf("nobody asked the worker: %s", answer.Text)
	}
	return nil
}
