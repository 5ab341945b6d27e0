package channel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
)

// The `context` tool: the model sees how full its window is, and may ask for a
// compaction. It changes no setting.

// toolset is what the model may call: what the conversation remembers, `context`, and others,
// the tools of other programs. The first request and every gauge count the same tools.
func (a Agent) toolset(records *memory.Conversation, o memory.ToolOptions, look func(ctx context.Context, op, focus string) (any, error), others []llm.Tool) []llm.Tool {
	own := llm.Tool{
		Name:        "context",
		Description: "Your context window. status: how full it is, and the rules for compacting. compact: have the older messages summarized in the background, keeping focus.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"op":{"type":"string","enum":["status","compact"]},"focus":{"type":"string"}},"required":["op"]}`),
		Run: func(ctx context.Context, arguments json.RawMessage) (string, error) {
			var args struct {
				Op    string `json:"op"`
				Focus string `json:"focus"`
			}
			strict := json.NewDecoder(bytes.NewReader(arguments))
			strict.DisallowUnknownFields()
			if err := strict.Decode(&args); err != nil {
				return "", fmt.Errorf(`the arguments are {"op": "status"} or {"op": "compact", "focus": "what to keep"}, and nothing else (%w): settings are for people to change`, err)
			}
			answer, err := look(ctx, args.Op, args.Focus)
			if err != nil {
				return "", err
			}
			text, err := json.Marshal(answer)
			return string(text), err
		},
	}
	return slices.Concat(records.Tools(o), []llm.Tool{own}, others)
}

// lookAtWindow answers a call of the `context` tool.
func (c *conversation) lookAtWindow(ctx context.Context, op, focus string) (any, error) {
	switch op {
	case "status":
		return c.status(), nil
	case "compact":
		began, err := c.compact(ctx, compactor.OnSelf, focus, nil)
		return c.requested(began), err
	}
	return nil, errors.New(`op is "status" or "compact"`)
}

// status is what the model reads about its window.
type status struct {
	Agent   string           `json:"agent"`
	Model   string           `json:"model"`
	Used    int              `json:"used_tokens"` // the prompt of the next request and the reply's reserve
	Max     int              `json:"max_tokens"`
	UsedPct float64          `json:"used_pct"`
	Next    string           `json:"next"`
	Running string           `json:"running,omitempty"`
	Last    string           `json:"last,omitempty"`
	Failed  string           `json:"last_failure,omitempty"` // since the last compaction
	Paused  string           `json:"paused,omitempty"`
	Policy  compactor.Policy `json:"policy"`
}

func (c *conversation) status() status {
	g := (*c.gauge.Load())()
	s := status{
		Agent: c.agent.ID, Model: c.agent.Model.Name(), Used: g.Used, Max: g.Window, UsedPct: usedPct(g),
		Next: nextLevel(g), Running: runningWords(g), Last: lastWords(g.Last), Paused: g.Paused, Policy: g.Policy,
	}
	if f := g.Failed; f.State != "" {
		s.Failed = fmt.Sprintf("messages #%d to #%d (%s): %s", f.From, f.To, f.Trigger, f.Error)
	}
	return s
}

// request is what the model reads about a compaction it asked for.
type request struct {
	Started bool   `json:"started"`
	Reason  string `json:"reason,omitempty"` // why it did not start
	From    int64  `json:"from_seq,omitempty"`
	To      int64  `json:"to_seq,omitempty"`
	Note    string `json:"note,omitempty"`
}

func (c *conversation) requested(e compactor.Event) request {
	if e.State == compactor.EventNoop {
		return request{Reason: e.Error}
	}
	return request{
		Started: true, From: e.From, To: e.To,
		Note: "it works in the background; the messages stay in view until the summary takes their place, and status tells if it failed",
	}
}

// ToolNames are the names of the tools that every agent has.
func ToolNames() (names []string) {
	for _, tool := range (Agent{}).weighed() {
		names = append(names, tool.Name)
	}
	return names
}
