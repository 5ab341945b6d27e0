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
)

const toolsHelp = `Tools has an agent work on one task with many calls of a tool, each with a long answer, in a small
window: the real bot, a scripted model that reads one page after the other and takes 20 ms for each,
and a scripted worker that takes no time. It shows where the answers are in an average request: shown,
cleared, or behind summaries. It does the same without clearing; with summaries that begin only at
93 % of the window, so that the emergency has to make room; and with neither. With the default
settings there must be no emergency, and the task must be done.`

// toolWork has the flags of `tools`.
type toolWork struct{ steps, size, window int }

func newTools() *benchmark {
	var w toolWork
	b := newBenchmark("tools", "A task of many tool calls in a small window", toolsHelp, func(ctx context.Context, s *screen, _ string) (result, error) {
		return w.measure(ctx, s)
	})
	b.integer(&w.steps, "steps", 200, 1, 2000, "`N` calls of the tool")
	b.integer(&w.size, "size", 2000, 100, 10_000, "`N` tokens of each answer")
	b.integer(&w.window, "window", 32_000, 16_000, 1_000_000, "`N` tokens of the window")
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

// layers returns the runs: which of the layers are enabled.
func layers() []layer {
	const never = 1_000_000 // characters; no result is that long, so none is cleared
	keep := func(p *compactor.Policy) { p.ToolResultMinChars = never }
	late := func(p *compactor.Policy) {
		p.PrepareThreshold, p.BackgroundThreshold, p.AggressiveThreshold = 0, 0.93, 0.94
	}
	return []layer{
		{"clearing, summaries", compactor.DefaultPolicy()},
		{"summaries", policyWith(keep)},
		{"clearing, late summaries", policyWith(late)},
		{"late summaries", policyWith(late, keep)},
	}
}

type layer struct {
	name   string
	policy compactor.Policy
}

func (w toolWork) measure(ctx context.Context, s *screen) (toolResult, error) {
	r := toolResult{Said: w.steps * tokens.Estimate(page(1, w.size))}
	for _, l := range layers() {
		s.progress("%s", l.name)
		run, err := w.run(ctx, l.policy)
		if err != nil {
			return r, fmt.Errorf("%s: %w", l.name, err)
		}
		run.Layers = l.name
		r.Runs = append(r.Runs, run)
	}
	first := r.Runs[0]
	r.Targets = []goal{zero("emergencies", first.Emergencies), atLeast("steps", float64(first.Steps), float64(w.steps)), atMost("largest request, of the window", float64(first.Largest)/float64(w.window), 0.95)}
	return r, nil
}

// run runs the task once.
func (w toolWork) run(ctx context.Context, policy compactor.Policy) (l toolLayer, err error) {
	reader := &reader{work: w}
	worker := &actor{dice: rand.New(rand.NewPCG(1, 2)), window: w.window}
	a := agentOf(reader, worker)
	a.ID, a.Spawn, a.TaskCalls, a.TaskTime = "reader", []string{"reader"}, w.steps+10, time.Hour
	a.Policy, a.Toolbox, a.ToolServers = func() compactor.Policy { return policy }, reader, []string{"book"}
	a.Origin = func(string) string { return "the bench" }
	var mu sync.Mutex // guards l until the bot is closed
	b, err := openBot(ctx, inMemory(), channel.Options{
		Agent:  func(string) channel.Agent { return a },
		Agents: func(string) (channel.Agent, bool) { return a, true },
		After: func(conversation string, e channel.Event) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case e.State != compactor.EventApplied || !strings.HasPrefix(conversation, store.TaskConnector+":"):
			case e.Trigger == compactor.OnEmergency || e.Trigger == compactor.OnReactive:
				l.Emergencies++
			default:
				l.Summaries++
			}
		},
	})
	if err != nil {
		return l, err
	}
	began := time.Now()
	state, err := w.await(ctx, b)
	if failed := b.close(); err == nil {
		err = failed
	}
	l.State, l.Seconds = state, time.Since(began).Seconds()
	reader.into(&l)
	return l, err
}

// await starts the task, and returns its final state.
func (w toolWork) await(ctx context.Context, b *bot) (string, error) {
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

// page returns a tool result of about size tokens.
func page(n, size int) string {
	text := textOf(rand.New(rand.NewPCG(uint64(n), 7)), size, vocabulary)
	text += " " + text
	for tokens.Estimate(text) > size {
		text = text[:len(text)*size/tokens.Estimate(text)-1]
	}
	return fmt.Sprintf("page-%d %s", n, text)
}

// readingTime is how long the model takes for a request. With less, the tool would be faster than
// any worker could be, although workers here take no time of their own.
const readingTime = 20 * time.Millisecond

// reader is a model that reads one page after the other, and the tool with which it reads them.
type reader struct {
	work toolWork

	mu                               sync.Mutex // guards everything below
	read, requests, largest          int
	asked, shown, cleared, elsewhere int // tokens, sums over all requests
}

func (*reader) Name() string { return "reader" }

func (r *reader) Window(context.Context) llm.Window { return llm.Window{Tokens: r.work.window} }

func (r *reader) Generate(_ context.Context, req llm.Request, _ func(string)) (llm.Response, error) {
	time.Sleep(readingTime)
	r.mu.Lock()
	defer r.mu.Unlock()
	cost, whole, cleared := 0, 0, 0
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
		return say("thank you"), nil
	}
	r.requests++
	r.asked += cost
	r.largest = max(r.largest, cost)
	r.shown += whole * r.work.size
	r.cleared += cleared * r.work.size
	r.elsewhere += max(r.read-whole-cleared, 0) * r.work.size
	usage := llm.Usage{Prompt: cost, Completion: 30}
	if r.read >= r.work.steps || len(req.Tools) == 0 {
		resp := say(fmt.Sprintf("I have read %d pages.", r.read))
		resp.Usage = usage
		return resp, nil
	}
	call := llm.Call{ID: fmt.Sprint("call_", r.read+1), Name: "book_page", Arguments: fmt.Sprintf(`{"page":%d}`, r.read+1)}
	note := fmt.Sprintf("I go on with page %d.", r.read+1)
	return llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Text: note, Calls: []llm.Call{call}}, FinishReason: llm.FinishToolCalls, Usage: usage}, nil
}

func say(text string) llm.Response {
	return llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Text: text}, FinishReason: llm.FinishStop}
}

// Servers, Ready and Tools implement channel.Toolbox.
func (*reader) Servers() []channel.ToolServer { return nil }

func (*reader) Ready(context.Context, []string) {}

func (r *reader) Tools([]string) []channel.Tool {
	return []channel.Tool{{Server: "book", Tool: llm.Tool{
		Name: "book_page", Description: "Read a page.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"page":{"type":"integer"}},"required":["page"]}`),
		Run: func(context.Context, json.RawMessage) (string, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.read++
			return page(r.read, r.work.size), nil
		},
	}}}
}

// into stores the results in l.
func (r *reader) into(l *toolLayer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := max(r.requests, 1)
	l.Steps, l.Requests, l.Request, l.Largest = r.read, r.requests, r.asked/n, r.largest
	l.Shown, l.Cleared, l.Hidden = r.shown/n, r.cleared/n, r.elsewhere/n
}
