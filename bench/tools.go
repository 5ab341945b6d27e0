package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/llmtest"
)

const toolsHelp = `Tools runs one task with many tool calls, each with a long result, in a small window: the real bot, a
scripted model that reads one page after another and takes 20 ms for each, and a scripted worker that
takes no time. It reports where the results are in an average request: shown, cleared, or behind
summaries. It repeats this without clearing; with summaries that start only at 93 % of the window, so
that the emergency level has to make room; and with neither. With the default settings there must be
no emergency, and the task must complete.`

const (
	toolWindow  = 32_000
	answerSize  = 2000                  // tokens of each answer
	readingTime = 20 * time.Millisecond // of a request; with less, the tool would be faster than any worker could be
)

func newTools() *benchmark {
	var steps int
	b := newBenchmark("tools", "Measure a task with many tool calls in a small window", toolsHelp, func(ctx context.Context, s *screen, _ []string) (result, error) {
		return measureTools(ctx, s, steps)
	})
	b.integer(&steps, "steps", 200, 1, 2000, "`N` calls of the tool")
	return b
}

// toolResult is the result.
type toolResult struct {
	Said int         `json:"tokens_of_answers"`
	Runs []toolLayer `json:"layers"`
	targets
}

// toolLayer is the result of one run. Token counts are estimates: of tool results, per request.
type toolLayer struct {
	Layers      string  `json:"layers"`
	State       string  `json:"state"`
	Steps       int     `json:"steps"`
	Requests    int     `json:"requests"`
	Request     int     `json:"request_tokens"` // on average
	Largest     int     `json:"largest_request"`
	Shown       int     `json:"shown"`
	Cleared     int     `json:"cleared"`
	Hidden      int     `json:"behind_summaries"`
	Summaries   int     `json:"summaries"`
	Emergencies int     `json:"emergencies"`
	Seconds     float64 `json:"seconds"`
}

func measureTools(ctx context.Context, s *screen, steps int) (toolResult, error) {
	const never = 1_000_000 // characters; no result is that long, so none is cleared
	keep := func(p *compactor.Policy) { p.ToolResultMinChars = never }
	late := func(p *compactor.Policy) {
		p.PrepareThreshold = 0
		p.BackgroundThreshold = 0.93
		p.AggressiveThreshold = 0.94
	}
	r := toolResult{Said: steps * tokens.Estimate(page(1))}
	for _, l := range []struct {
		name   string // of the layers that are enabled
		policy compactor.Policy
	}{
		{"clearing, summaries", compactor.DefaultPolicy()},
		{"summaries", policyWith(keep)},
		{"clearing, late summaries", policyWith(late)},
		{"late summaries", policyWith(late, keep)},
	} {
		s.progress("%s", l.name)
		run, err := runTask(ctx, steps, l.policy)
		if err != nil {
			return r, fmt.Errorf("%s: %w", l.name, err)
		}
		run.Layers = l.name
		r.Runs = append(r.Runs, run)
	}
	first := r.Runs[0]
	r.Targets = []goal{zero("emergencies", first.Emergencies), atLeast("steps", float64(first.Steps), float64(steps)), atMost("largest request, of the window", float64(first.Largest)/float64(toolWindow), 0.95)}
	return r, nil
}

// run runs the task once.
func runTask(ctx context.Context, steps int, policy compactor.Policy) (l toolLayer, err error) {
	reader := &reader{steps: steps}
	worker := &actor{dice: rand.New(rand.NewPCG(1, 2)), window: toolWindow}
	a := agentOf(reader, worker)
	a.ID = "reader"
	a.Spawn = []string{"reader"}
	a.Tasks.Calls = steps + 10
	a.Tasks.Time = time.Hour
	a.Policy = func() compactor.Policy { return policy }
	a.Toolbox = reader
	a.ToolServers = []string{"book"}
	a.Origin = func(string) string { return "the bench" }
	var mu sync.Mutex // guards l until the bot is closed
	b, err := openBot(ctx, inMemory(), channel.Options{
		Agent:  func(string) channel.Agent { return a },
		Agents: func(string) (channel.Agent, bool) { return a, true },
		Hooks: channel.Hooks{After: func(conversation string, e channel.Event) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case e.State != compactor.EventApplied || !strings.HasPrefix(conversation, store.TaskConnector+":"):
			case e.Trigger == compactor.OnEmergency || e.Trigger == compactor.OnReactive:
				l.Emergencies++
			default:
				l.Summaries++
			}
		}},
	})
	if err != nil {
		return l, err
	}
	began := time.Now()
	state, err := awaitTask(ctx, b)
	failed := b.close()
	if err == nil {
		err = failed
	}
	l.State, l.Seconds = state, time.Since(began).Seconds()
	n := max(reader.requests, 1)
	l.Steps = reader.read
	l.Requests = reader.requests
	l.Request = reader.asked / n
	l.Largest = reader.largest
	l.Shown = reader.shown / n
	l.Cleared = reader.cleared / n
	l.Hidden = reader.elsewhere / n
	return l, err
}

// awaitTask starts the task, and returns its final state.
func awaitTask(ctx context.Context, b *bot) (string, error) {
	const place = "bench:server/room"
	answer, err := b.command(ctx, place, "/ask @reader read the book")
	if err != nil {
		return "", err
	}
	records, err := b.store.Find(ctx, place)
	if err != nil {
		return "", err
	}
	for {
		all, err := records.Tasks().List(ctx)
		if err != nil {
			return "", err
		}
		if len(all) != 1 {
			return "", fmt.Errorf("no task has begun: %s", answer)
		}
		if all[0].State != store.TaskOpen {
			return string(all[0].State), nil
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// page returns a tool result of about answerSize tokens.
func page(n int) string {
	text := textOf(rand.New(rand.NewPCG(uint64(n), 7)), answerSize, vocabulary)
	text += " " + text
	for tokens.Estimate(text) > answerSize {
		text = text[:len(text)*answerSize/tokens.Estimate(text)-1]
	}
	return fmt.Sprintf("page-%d %s", n, text)
}

// reader is a model that reads one page after the other, and the tool with which it reads them.
type reader struct {
	steps int

	mu                               sync.Mutex // guards everything below until the bot is closed
	read, requests, largest          int
	asked, shown, cleared, elsewhere int // tokens, sums over all requests
}

func (*reader) Name() string { return "reader" }

func (r *reader) Window(context.Context) llm.Window { return llm.Window{Tokens: toolWindow} }

func (r *reader) Generate(_ context.Context, req llm.Request, _ func(string)) (llm.Response, error) {
	time.Sleep(readingTime)
	r.mu.Lock()
	defer r.mu.Unlock()
	cost := 0
	whole := 0
	cleared := 0
	for _, m := range req.Messages {
		cost += tokens.PerMessage + tokens.Estimate(m.Text)
		if m.Role != llm.RoleTool {
			continue
		}
		if strings.HasPrefix(m.Text, "[Previous: used") {
			cleared++
		} else {
			whole++
		}
	}
	if !strings.Contains(req.Messages[0].Text, "You work alone on one task") { // the conversation that receives the result
		return llmtest.Say("thank you"), nil
	}
	r.requests++
	r.asked += cost
	r.largest = max(r.largest, cost)
	r.shown += whole * answerSize
	r.cleared += cleared * answerSize
	r.elsewhere += max(r.read-whole-cleared, 0) * answerSize
	usage := llm.Usage{Prompt: cost, Completion: 30}
	if r.read >= r.steps || len(req.Tools) == 0 {
		resp := llmtest.Say(fmt.Sprintf("I have read %d pages.", r.read))
		resp.Usage = usage
		return resp, nil
	}
	resp := llmtest.Use(llmtest.Call(fmt.Sprint("call_", r.read+1), "book_page", map[string]int{"page": r.read + 1}))
	resp.Message.Text = fmt.Sprintf("I go on with page %d.", r.read+1)
	resp.Usage = usage
	return resp, nil
}

// Servers, Ready and Tools implement channel.Toolbox.
func (*reader) Servers() []channel.ToolServer { return nil }

func (*reader) Ready(context.Context, []string) {}

func (r *reader) Tools([]string) []llm.Tool {
	return []llm.Tool{{
		Name: "book_page", Description: "Read a page.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"page":{"type":"integer"}},"required":["page"]}`),
		Run: func(context.Context, json.RawMessage) (llm.Result, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.read++
			return llm.Result{Text: page(r.read)}, nil
		},
	}}
}
