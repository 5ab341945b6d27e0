package channel

import (
	"context"
	"fmt"
	"time"

	"cairn/memory"
)

// volatile is the block behind the last message: what may help with this turn and
// would spoil the provider's cache anywhere else. It is quoted data, and small.
func (c *conversation) volatile(ctx context.Context, turn memory.Turn) string {
	gauge := c.engine.Gauge()
	now := fmt.Sprintf("time: %s; context window used: %d %%", time.Now().Local().Format("2006-01-02 15:04 MST"), percent(gauge.Used, gauge.Window))
	if turn.Optional {
		now += "\n" + mayBeSilent
	}
	return c.recalled(ctx, turn, min(c.agent.Recall, gauge.Window/recalledShare)) + now
}

func percent(used, window int) int { return used * 100 / max(window, 1) }
