package channel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"cairn/compactor"
	"cairn/memory"
)

// turnContext is what the model is shown behind the newest message of a turn: the
// time, how full the window is, and what was recalled. It is stored with the turn, so
// it is small. A question to another agent has none: that agent is not shown the view.
func (c *conversation) turnContext(ctx context.Context, turn memory.Turn, other *handover) compactor.Context {
	if other != nil {
		return compactor.Context{}
	}
	gauge := (*c.gauge.Load())()
	made := c.recalled(ctx, turn, min(c.agent.Recall, gauge.Window/recalledShare))
	made.Text += fmt.Sprintf("time: %s; context window used: %d %%", time.Now().Local().Format("2006-01-02 15:04 MST"), percent(gauge.Used, gauge.Window))
	if turn.Optional {
		made.Text += "\n" + mayBeSilent
	}
	return made
}

func percent(used, window int) int { return used * 100 / max(window, 1) }

// cacheKey names a conversation to a provider's prompt cache, without telling its name.
func cacheKey(conversation string) string {
	sum := sha256.Sum256([]byte("cairn:" + conversation))
	return hex.EncodeToString(sum[:16])
}
