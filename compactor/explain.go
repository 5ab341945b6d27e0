package compactor

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"cairn/llm"
)

// Meaning explains what a setting means for a window, in tokens.
type Meaning struct {
	Key    string `json:"key"`    // of the policy, or one of context_window, max_output_tokens, instructions
	Value  string `json:"value"`  // in the syntax of the settings
	Tokens int    `json:"tokens"` // after all limits
	Means  string `json:"means"`
	Moves  string `json:"moves,omitempty"` // what else it affects
}

// Explain returns what the settings mean for a window, largest first.
func (p Policy) Explain(system string, tools []llm.Tool, maxOutput, window int) []Meaning {
	given := p
	p = p.At(window)
	of := func(share float64) int { return int(math.Round(share * float64(window))) }
	all := []Meaning{
		{"context_window", fmt.Sprint(window), window, "prompt and reply together", "every level below that is a share of it"},
		{"emergency_threshold", "", of(p.EmergencyThreshold), fmt.Sprintf("from here on, the oldest %.0f %% of the messages are removed immediately, without a model", 100*p.EmergencyFraction), ""},
		{"aggressive_threshold", "", of(p.AggressiveThreshold), fmt.Sprintf("from here on, summaries replace the oldest %.0f %% of the messages", 100*p.AggressiveFraction), ""},
		{"background_threshold", "", of(p.BackgroundThreshold), fmt.Sprintf("from here on, summaries replace the oldest %.0f %% of the messages", 100*p.BackgroundFraction), p.movesOfBackground()},
		{"prepare_threshold", "", of(p.Prepare()), "from here on, summaries are prepared", ""},
		{"stack_budget", "", p.stackBudget(window), "all summaries together; beyond it they are rolled up", fmt.Sprintf("one summary may have %d, earlier sessions %d", p.entryCap(window, p.stackBudget(window)), p.maxPast(window))},
		{"tail_tokens", "", p.tail(window), fmt.Sprintf("the newest %s stay verbatim, up to this many tokens%s", p.newest(), limited(p.TailTokens, p.tail(window), "a quarter of the window")), ""},
		{"span_tokens", "", p.spanTokens(window), "messages that one prepared summary covers" + limited(p.SpanTokens, p.spanTokens(window), "15 % of the window"), fmt.Sprintf("its summary has about %d (target_percentage = %d)", p.target(p.spanTokens(window), p.entryCap(window, p.stackBudget(window))), p.TargetPct)},
		{"pin_budget", "", min(p.PinBudget, window/firstShare), "first messages and pins" + limited(p.PinBudget, window/firstShare, "a tenth of the window"), ""},
		{"max_output_tokens", fmt.Sprint(maxOutput), Reserve(maxOutput, window), "reserved for the reply; counts as used" + limited(maxOutput, Reserve(maxOutput, window), "an eighth of the window"), "all levels: less room is left for messages"},
		{"instructions", "", FrameCost(system, tools), "system prompt and tools; they count as used", "all levels: less room is left for messages"},
	}
	if p.CompactAtTokens > 0 {
		all = append(all, Meaning{"compact_at_tokens", "", p.CompactAtTokens, "acts like background_threshold", "the lower of the two applies"})
	}
	if !p.Enabled {
		all = append(all, Meaning{"enabled", "", 0, "only emergency_threshold works", "background_threshold, aggressive_threshold, prepare_threshold, compact_at_tokens"})
	}
	for i, m := range all {
		all[i].Value = cmp.Or(m.Value, given.Value(m.Key))
		if m.Key == "prepare_threshold" && p.PrepareThreshold < 0 {
			all[i].Value = fmt.Sprintf("%.4g", p.Prepare())
			all[i].Means += "; by default the smaller of 0.6 and 0.75 × background_threshold"
		}
		if m.Key == "prepare_threshold" && p.Prepare() == 0 {
			all[i].Means = "off: nothing is prepared"
		}
	}
	slices.SortStableFunc(all, func(a, b Meaning) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return all
}

func (p Policy) newest() string {
	if p.KeepLastTurns > 0 {
		return fmt.Sprintf("%d messages (keep_last_n) and %d turns (keep_last_turns)", p.KeepLastN, p.KeepLastTurns)
	}
	return fmt.Sprintf("%d messages (keep_last_n)", p.KeepLastN)
}

func (p Policy) movesOfBackground() string {
	moves := "must stay below aggressive_threshold"
	if p.PrepareThreshold < 0 {
		lower := p
		lower.BackgroundThreshold -= 0.1
		moves = fmt.Sprintf("prepare_threshold follows: %.4g at %.4g; %s", lower.Prepare(), lower.BackgroundThreshold, moves)
	}
	return moves
}

func limited(set, is int, by string) string {
	if is >= set {
		return ""
	}
	return fmt.Sprintf(" (limited to %s; the setting is %d)", by, set)
}

// ValidateWindow describes, with numbers, which levels a conversation reaches before the first
// message: those below what system prompt, tools, the reply's reserve and pins take of the window.
// "" if there are none.
func (p Policy) ValidateWindow(system string, tools []llm.Tool, maxOutput, window int) string {
	given := p
	p = p.At(window)
	frame, reserve, pins := FrameCost(system, tools), Reserve(maxOutput, window), min(p.PinBudget, window/firstShare)
	need := frame + reserve + pins
	var low []string
	level := func(key string, tokens int, counts bool) {
		if counts && tokens <= need {
			low = append(low, fmt.Sprintf("%s = %s (%d tokens)", key, given.Value(key), tokens))
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
	return fmt.Sprintf("%s: reached before the first message. Of a window of %d tokens, %d are needed for system prompt and tools, %d for the reply, %d for pins: %d in all. Set a larger context_window or threshold, or a smaller max_output_tokens or pin_budget",
		strings.Join(low, ", "), window, frame, reserve, pins, need)
}
