package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"cairn/llm"
	"cairn/store"
)

// The tools with which a model starts tasks.

// assignment is the argument of a call of spawn.
type assignment struct {
	Agent      string         `json:"agent"`
	Task       string         `json:"task"`
	Compaction map[string]any `json:"compaction"`
}

// Tools returns the tools that give tasks to agents; p is nil if they are only measured.
func Tools(agents []string, p *Parent) []llm.Tool {
	if len(agents) == 0 {
		return nil
	}
	enum, _ := json.Marshal(agents) // strings can always be marshaled
	one := `{"type":"object","properties":{"agent":{"type":"string","enum":` + string(enum) + `},"task":{"type":"string","description":"all it must know: it sees only this and the newest messages"},"compaction":{"type":"object","description":"settings of its compaction, by key"}},"required":["agent","task"]}`
	return []llm.Tool{
		{
			Name:        "spawn",
			Description: "Give another agent a task. It works on it in the background; you go on, and get its result as a message. Tell people that it has started.",
			Parameters:  json.RawMessage(one),
			Run: func(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
				var args assignment
				if err := llm.DecodeArguments(arguments, &args); err != nil {
					return llm.Result{}, fmt.Errorf(`the arguments are {"agent": "…", "task": "…", "compaction": {…}}: %w`, err)
				}
				return p.spawn(ctx, []assignment{args})
			},
		},
		{
			Name:        "parallel_spawn",
			Description: fmt.Sprintf("Give several tasks at once, each as with spawn. At most %d may be open.", maxOpen),
			Parameters:  json.RawMessage(`{"type":"object","properties":{"tasks":{"type":"array","items":` + one + `}},"required":["tasks"]}`),
			Run: func(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
				var args struct {
					Tasks []assignment `json:"tasks"`
				}
				if err := llm.DecodeArguments(arguments, &args); err != nil {
					return llm.Result{}, fmt.Errorf(`the arguments are {"tasks": [{"agent": "…", "task": "…"}, …]}: %w`, err)
				}
				return p.spawn(ctx, args.Tasks)
			},
		},
	}
}

// spawn starts as many tasks as may be open or, if one is wrong, none. Its result is for the model.
func (p *Parent) spawn(ctx context.Context, all []assignment) (llm.Result, error) {
	if len(all) == 0 {
		return llm.Result{}, errors.New("tasks is empty: name at least one")
	}
	terms, err := p.host.Terms()
	if err != nil {
		return llm.Result{}, err
	}
	sources, err := p.records.Turns().Messages(ctx, terms.Turn)
	if err != nil {
		return llm.Result{}, err
	}
	orders := make([]order, len(all))
	tasks := make([]store.NewTask, len(all))
	for i, one := range all {
		orders[i] = order{assignment: one, sources: sources, turn: terms.Turn}
		tasks[i], err = p.write(ctx, orders[i])
		if err != nil {
			return llm.Result{}, err
		}
	}
	var started []map[string]any
	for i, n := range tasks {
		t, err := p.begin(ctx, n, orders[i])
		if err != nil && len(started) == 0 {
			return llm.Result{}, err
		}
		one := map[string]any{"agent": n.Agent, "task": t.Number, "state": "started"}
		if err != nil {
			one = map[string]any{"agent": n.Agent, "refused": err.Error()}
		}
		started = append(started, one)
	}
	text, err := json.Marshal(map[string]any{"tasks": started, "note": "each result comes as a message of its own; /tasks shows people what is open"})
	return llm.Result{Text: string(text)}, err
}
