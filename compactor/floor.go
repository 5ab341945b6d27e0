package compactor

import (
	"fmt"
	"strings"

	"cairn/llm"
)

// Tight says, with numbers, which levels a conversation reaches before anybody has
// said anything: those that lie below what system prompt, tools, the reply's reserve
// and pins take of the window. "" if there are none.
func (p Policy) Tight(system string, tools []llm.Tool, maxOutput, window int) string {
	frame, reserve, pins := frameCost(system, tools), Reserve(maxOutput, window), min(p.PinBudget, window/firstShare)
	need := frame + reserve + pins
	var low []string
	level := func(key string, tokens int, counts bool) {
		if counts && tokens <= need {
			low = append(low, fmt.Sprintf("%s = %s (%d tokens)", key, p.Value(key), tokens))
		}
	}
	share := func(threshold float64) int { return int(threshold * float64(window)) }
	level("background_threshold", share(p.BackgroundThreshold), p.Enabled)
	level("aggressive_threshold", share(p.AggressiveThreshold), p.Enabled)
	level("emergency_threshold", share(p.EmergencyThreshold), true)
	level("compact_at_tokens", p.CompactAtTokens, p.Enabled && p.CompactAtTokens > 0)
	if len(low) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: reached before anything is said. Of a window of %d tokens, %d are needed for system prompt and tools, %d for the reply, %d for pins: %d in all. Set a larger context_window or threshold, or a smaller max_output_tokens or pin_budget",
		strings.Join(low, ", "), window, frame, reserve, pins, need)
}
