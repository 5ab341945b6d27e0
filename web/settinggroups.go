// The groups in which a page shows the settings of a conversation.

package web

import (
	"slices"

	"cairn/channel/report"
)

// settingGroup is a part of the settings, with one text for all of them.
type settingGroup struct {
	title, text string
	keys        []string
}

var settingGroups = []settingGroup{
	{
		"When it compacts", "Summaries take the place of the oldest messages when the next request uses this share of the window; then about this share of the messages leaves the prompt.",
		[]string{
			"enabled", "background_threshold", "aggressive_threshold", "emergency_threshold", "background_fraction", "aggressive_fraction", "emergency_fraction",
			"compact_at_tokens", "cooldown",
		},
	},
	{
		"Prepared ahead", "A worker prepares summaries before they are needed, so that nobody waits. They are applied at a level, or when the provider's prompt cache is cold.",
		[]string{"prepare_threshold", "span_tokens", "cache_ttl", "economy"},
	},
	{
		"What stays word for word", "These messages stay in the prompt as people wrote them.",
		[]string{"keep_first", "keep_first_turns", "keep_last_n", "keep_last_turns", "pin_budget", "tail_tokens"},
	},
	{
		"How long summaries are", "All summaries together have a share of the window; several old ones are folded into one.",
		[]string{"target_percentage", "max_summary_tokens", "stack_budget", "rollup_fan_in", "earlier_sessions", "earlier_sessions_tokens"},
	},
	{
		"Who writes summaries", "A model, with the extractive summarizer in its place when it fails.",
		[]string{"strategy", "model", "worker_reasoning", "focus", "prompt_file", "timeout", "max_turns", "failure_limit"},
	},
	{"Memories", "Facts, preferences and decisions that are saved from the messages before they are summarized.", []string{"extract_memories", "max_memories"}},
	{
		"Results of tools", "Old results of tools are cleared first: they are long, and the model has read them.",
		[]string{"tool_results_kept", "tool_result_min_chars", "tool_output_max_lines"},
	},
	{"What people see", "How a channel learns that older messages were summarized.", []string{"notify"}},
}

// of returns the settings that belong to a group, in its order.
func (s settingGroup) of(all []report.Setting) (found []report.Setting) {
	for _, key := range s.keys {
		if i := slices.IndexFunc(all, func(one report.Setting) bool { return one.Key == key }); i >= 0 {
			found = append(found, all[i])
		}
	}
	return found
}
