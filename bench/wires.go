package main

import (
	"context"
	"fmt"

	"cairn/llm"
)

const wiresHelp = `Wires has %d models answer on every wire, over servers on loopback that are as strict as the
providers' documentation: a turn, a turn with a tool, and a compaction by the worker. On "auto" the
server is the model's own kind: it has its provider's wires and refuses what the provider refuses
(tools on chat completions, a forced tool, max_tokens, tools at all); on the other wires it takes
whatever the wire allows.

The target is that all answer; a run that misses it ends with 3.`

func newWires() *benchmark {
	return newBenchmark("wires", "Whether current models answer on every wire", fmt.Sprintf(wiresHelp, len(wiredModels)), func(ctx context.Context, s *screen, _ string) (result, error) {
		return measureWires(ctx, s)
	})
}

// wireAuto is the wire that is found out.
const wireAuto = "auto"

var wireColumns = []string{wireAuto, llm.WireChat, llm.WireResponses, llm.WireMessages}

// The three things that are asked of a model, in their order.
var wireParts = []string{"turn", "tool", "worker"}

// wired is a model on a wire.
type wired struct {
	Model   string            `json:"model"`
	Wire    string            `json:"wire"`              // that was set
	Took    string            `json:"took"`              // at the end
	Failed  map[string]string `json:"failed,omitempty"`  // why, by part
	Refused []string          `json:"refused,omitempty"` // why its double refused requests; a field refused is left out from then on
}

func (w wired) answered() bool { return len(w.Failed) == 0 }

// wiring is the whole result.
type wiring struct {
	Models   int     `json:"models"`
	Cells    []wired `json:"cells"`
	Answered int     `json:"answered"`
	targets
}

func measureWires(ctx context.Context, s *screen) (r wiring, err error) {
	r.Models = len(wiredModels)
	for _, model := range wiredModels {
		for _, wire := range wireColumns {
			s.progress("%s on %s", model.name, wire)
			cell, err := model.on(ctx, wire)
			if err != nil {
				return r, fmt.Errorf("%s on %s: %w", model.name, wire, err)
			}
			if r.Cells = append(r.Cells, cell); cell.answered() {
				r.Answered++
			}
		}
	}
	r.Targets = []goal{none("models on a wire that were not answered", len(r.Cells)-r.Answered)}
	return r, nil
}
