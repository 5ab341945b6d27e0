// The tool `context`, with which the model asks about its context window.

package channel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/prompts"
)

// contextCall is a call of the tool `context`, which changes no setting.
type contextCall struct {
	Op         string         `json:"op"`
	Focus      string         `json:"focus"`
	Keep       *int           `json:"keep_last_n"`
	Compaction map[string]any `json:"compaction"`
	Topic      string         `json:"topic"`
}

// The most settings that op "self" lists, and the most tokens of each: the whole result takes at most about 300.
const selfSettings, selfClip = 6, 25

// contextTool answers the calls of the tool in a conversation.
type contextTool struct {
	*voice
	loop  *loop
	agent Agent // that calls it
}

// tool returns the tool. The first request and every Status count the same tools.
func (t *contextTool) tool() llm.Tool {
	return llm.Tool{
		Name:        "context",
		Description: "Your context window. self: who you are, how full the window is, the rules for compacting, usage. compact: have the older messages summarized in the background, keeping focus. help: how Cairn works, by topic.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"op":{"type":"string","enum":["self","compact","help"]},"focus":{"type":"string"},"keep_last_n":{"type":"integer"},"compaction":{"type":"object","description":"other settings of this compaction, by key"},"topic":{"type":"string"}},"required":["op"]}`),
		Run: func(ctx context.Context, arguments json.RawMessage) (llm.Result, error) {
			var w contextCall
			if err := llm.DecodeArguments(arguments, &w); err != nil {
				return llm.Result{}, fmt.Errorf(`the arguments are {"op": "self"}, {"op": "compact", "focus": "what to keep", "keep_last_n": 10} or {"op": "help", "topic": "compaction"}, and nothing else (%w): settings are for people to change`, err)
			}
			text, err := t.answer(ctx, w)
			return llm.Result{Text: text}, err
		},
	}
}

// answer answers a call.
func (t *contextTool) answer(ctx context.Context, w contextCall) (string, error) {
	switch w.Op {
	case "self", "status": // "status" is its old name
		return asJSON(t.self(ctx))
	case "compact":
		settings := map[string]any{}
		maps.Copy(settings, w.Compaction)
		if w.Keep != nil {
			settings["keep_last_n"] = float64(*w.Keep)
		}
		with, err := report.PatchOf(settings)
		if err != nil {
			return "", err
		}
		began, _, err := t.loop.compact(ctx, compactor.Requested{Trigger: compactor.OnSelf, Focus: w.Focus, With: with})
		if began.State == compactor.EventNoop {
			return asJSON(map[string]any{"started": false, "reason": began.Error}, err)
		}
		return asJSON(map[string]any{
			"started": true, "from_seq": began.From, "to_seq": began.To,
			"note": "it works in the background; the messages stay in view until the summary takes their place, and self tells if it failed",
		}, err)
	case "help":
		help := prompts.In(t.language()).Help
		if text, known := help[w.Topic]; known {
			return text, nil
		}
		return "The topics are " + strings.Join(slices.Sorted(maps.Keys(help)), ", ") + ".", nil
	}
	return "", errors.New(`op is "self", "compact" or "help"`)
}

func asJSON(answer any, err error) (string, error) {
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(answer)
	return string(text), err
}

// self is what the model reads about itself.
type self struct {
	Agent     string `json:"agent"`
	Provider  string `json:"provider,omitempty"`
	Model     string `json:"model"`
	Reasoning string `json:"reasoning,omitempty"`
	MaxOutput int    `json:"max_output_tokens"`
	report.Fill
	Failed    string   `json:"last_failure,omitempty"` // since the last compaction
	Summaries int      `json:"summaries"`              // in the <kept> block
	Requests  int64    `json:"requests"`               // so far, including those for summaries
	Cost      float64  `json:"cost,omitempty"`
	Policy    []string `json:"policy"` // differences from the built-in policy, and where each is set
}

func (t *contextTool) self(ctx context.Context) (self, error) {
	g := t.loop.status()
	s := self{
		Agent: t.agent.ID, Provider: t.agent.Provider, Model: t.agent.Model.Name(), Reasoning: t.agent.Reasoning, MaxOutput: t.agent.MaxOutput,
		Fill: report.FillOf(g, sentences.Speaker{}), Summaries: len(g.Stack), Policy: []string{},
	}
	if f := g.Failed; f.State != "" {
		s.Failed = fmt.Sprintf("messages #%d to #%d (%s): %s", f.From, f.To, f.Trigger, f.Error)
	}
	if turn := t.loop.turn.Load(); turn != nil && turn.standsIn {
		s.Model = turn.agent.Model.Name()
		s.Provider = turn.agent.Provider
	}
	spent, err := ReadSpending(ctx, t.records, t.agent, t.access.Rules().Money)
	if err != nil {
		return s, err
	}
	s.Requests = spent.Total.Requests
	s.Cost = spent.Total.Cost
	all, _, err := report.ReadSettings(ctx, t.records, t.agent.Policy(), t.agent.Origin)
	for _, set := range all {
		if !set.IsDefault() {
			text := chat.OneLine(tokens.Clip(set.Text(sentences.Speaker{}), selfClip))
			s.Policy = append(s.Policy, strings.TrimPrefix(text, report.SettingsTable))
		}
	}
	if more := len(s.Policy) - selfSettings; more > 0 {
		s.Policy = append(s.Policy[:selfSettings], fmt.Sprintf("and %d more; /settings shows them", more))
	}
	return s, err
}

// ToolNames returns the names of the tools that every agent has.
func ToolNames() (names []string) {
	for _, tool := range (Agent{}).weighed() {
		names = append(names, tool.Name)
	}
	return names
}
