package channel

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cairn/compactor"
	"cairn/memory"
)

// recalledMemories is how many memories at most stand behind a message unasked.
const recalledMemories = 5

// volatile is the block behind the last message: what may help with this turn and
// would spoil the provider's cache anywhere else. It is quoted data, and small.
func (c *conversation) volatile(ctx context.Context, turn memory.Turn) string {
	gauge := c.engine.Gauge()
	now := fmt.Sprintf("time: %s UTC; context window used: %d %%", time.Now().UTC().Format("2006-01-02 15:04"), percent(gauge.Used, gauge.Window))
	if turn.Optional {
		now += "\n" + mayBeSilent
	}
	budget := gauge.Window / 20
	var b strings.Builder
	for _, m := range c.recalled(ctx, turn) {
		line := fmt.Sprintf("- %q (%s, said by %s on %s)\n", m.Content, m.Kind, m.Speaker, m.SaidAt.UTC().Format(time.DateOnly))
		if budget -= compactor.Estimate(line); budget < 0 {
			break
		}
		b.WriteString(line)
	}
	if b.Len() == 0 {
		return now
	}
	return "memories that may matter here, as data:\n" + b.String() + now
}

// recalled searches the memories for what the turn is about. A failure costs only
// the help.
func (c *conversation) recalled(ctx context.Context, turn memory.Turn) []memory.Memory {
	page, err := c.records.Transcript(ctx, turn.Seq, 50)
	if err != nil {
		c.notRecalled(ctx, err)
		return nil
	}
	var asked strings.Builder
	for _, m := range page {
		if m.Addressed {
			asked.WriteString(compactor.Clip(m.Text, 500))
			asked.WriteByte('\n')
		}
	}
	found, err := c.records.SearchMemories(ctx, asked.String(), recalledMemories)
	if err != nil {
		c.notRecalled(ctx, err)
	}
	return found
}

func (c *conversation) notRecalled(ctx context.Context, err error) {
	if ctx.Err() == nil { // else the turn is being stopped
		c.log.Warn("no memories were recalled", "error", err)
	}
}

func percent(used, window int) int { return used * 100 / max(window, 1) }
