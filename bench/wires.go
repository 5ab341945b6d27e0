package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/llm"
)

const wiresHelp = `Wires has a conversation with %d models on every wire, over servers on loopback that are as
strict as the providers' documentation: a turn, a turn with a tool, and a compaction by the
worker. On "auto" the server is the model's own kind: it answers on the wires it has, and
refuses what the provider refuses of that model (tools on chat completions, a forced tool,
max_tokens, tools at all); on the others it takes whatever that wire allows.

The target is that all are answered; a run that misses it ends with 3.`

func newWires(s *screen) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "wires",
		Short: "Whether current models answer on every wire",
		Long:  fmt.Sprintf(wiresHelp, len(wiredModels)),
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return measureWires(cmd.Context(), s, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
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
	Target   goal    `json:"target"`
}

func measureWires(ctx context.Context, s *screen, asJSON bool) error {
	defer s.done()
	result := wiring{Models: len(wiredModels)}
	for _, model := range wiredModels {
		for _, wire := range wireColumns {
			s.progress("%s on %s", model.name, wire)
			cell, err := model.on(ctx, wire)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", model.name, wire, err)
			}
			if result.Cells = append(result.Cells, cell); cell.answered() {
				result.Answered++
			}
		}
	}
	result.Target = atMost("models on a wire that were not answered", float64(len(result.Cells)-result.Answered), 0, 0)
	s.done()
	return s.conclude(asJSON, result, []goal{result.Target})
}

// table is the result as people read it.
func (r wiring) table(s *screen) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %d models: %s\n\n", s.paint(bold, "models on every wire"), r.Models, strings.Join(wireParts, ", "))
	heading := left("", nameWidth)
	for _, wire := range wireColumns {
		heading += left(wire, 22)
	}
	b.WriteString(s.paint(dim, strings.TrimRight(heading, " ")) + "\n")
	for cells := range slices.Chunk(r.Cells, len(wireColumns)) {
		line := left(cells[0].Model, nameWidth)
		for _, c := range cells {
			said, color := "answered", green
			if c.Wire == wireAuto {
				said += " (" + c.Took + ")"
			}
			if !c.answered() {
				said, color = "failed", red
			}
			line += s.paint(color, left(said, 22))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteByte('\n')
	for _, c := range r.Cells {
		for _, part := range wireParts {
			if why := c.Failed[part]; why != "" {
				fmt.Fprintf(&b, "%s on %s, %s: %s\n", c.Model, c.Wire, part, why)
			}
		}
		for _, why := range c.Refused {
			fmt.Fprintf(&b, "%s on %s: once refused, and left out from then on: %s\n", c.Model, c.Wire, why)
		}
	}
	fmt.Fprintf(&b, "%s\n", verdict(s, r.Target))
	return b.String()
}
