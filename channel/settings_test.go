package channel_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// setFilePolicy sets the rig's policy as a settings file would; the test may edit it.
func (r *rig) setFilePolicy(edit func(*compactor.Policy)) {
	p := compactor.DefaultPolicy()
	edit(&p)
	r.agent.Policy = func() compactor.Policy { return p }
}

func TestSettingsAreShownWithTheirOrigin(t *testing.T) {
	r := newRig(t, echo)
	r.setFilePolicy(func(p *compactor.Policy) { p.KeepFirst, p.KeepLastN, p.PromptFile = 2, 9, "/home/somebody/prompt.md" })
	r.agent.Origin = func(key string) string {
		return map[string]string{"keep_first": "[defaults.compaction]", "keep_last_n": `[agents.compaction] of "cairn"`, "prompt_file": "[defaults.compaction]"}[key]
	}
	r.reopen()
	r.run("/settings compaction.pin_budget 0")
	shown := r.run("/settings")
	for _, want := range []string{
		"compaction.keep_first = 2 ([defaults.compaction])",
		`compaction.keep_last_n = 9 ([agents.compaction] of "cairn")`,
		"compaction.pin_budget = 0 (set here by Ada)",
		"compaction.tail_tokens = 16000 (built in)",
		"compaction.prepare_threshold = 0.6 (follows background_threshold)",
		`compaction.notify = "off" (built in)`,
		`compaction.prompt_file = "prompt.md" ([defaults.compaction])`,
	} {
		check.Contains(t, fmt.Sprintf("setting %s", want), shown, "\n"+want)
	}
	for _, key := range compactor.Keys() {
		check.Equal(t, fmt.Sprintf("setting %s", key), strings.Count(shown, "\ncompaction."+key+" = "), 1)
		check.HasPrefix(t, fmt.Sprintf("answer to /settings %s", key), r.run("/settings compaction."+key), "compaction."+key+" = ")
	}
}

func TestEverySettingHasAConversationOverride(t *testing.T) {
	r := newRig(t, echo)
	values := map[string]string{
		"enabled": "false", "economy": "true", "extract_memories": "false", "background_threshold": "0.7", "aggressive_threshold": "0.9", "emergency_threshold": "0.97",
		"prepare_threshold": "0", "compact_at_tokens": "5000", "stack_budget": "0.2", "notify": "message", "focus": "titles of books",
		"strategy": "window", "tail_tokens": "700", "span_tokens": "700", "max_summary_tokens": "700",
	}
	for _, key := range compactor.Keys() {
		value := values[key]
		switch {
		case value != "":
		case strings.HasSuffix(key, "_fraction"):
			value = "0.4"
		case key == "cache_ttl" || key == "timeout" || key == "cooldown":
			value = "7m0s"
		default:
			value = "13"
		}
		line := r.run("/settings compaction." + key + " " + value)
		if isFileOnly(key) {
			check.Contains(t, fmt.Sprintf("help for %s", key), line, "in the settings file")
			continue
		}
		if line != "From now on: compaction."+key+" = "+value+" (set here by Ada)" && line != fmt.Sprintf("From now on: compaction.%s = %q (set here by Ada)", key, value) {
			t.Errorf("%s = %s: %q", key, value, line)
		}
	}
	for _, key := range compactor.Keys() {
		if key != "background_threshold" && !isFileOnly(key) {
			r.run("/settings compaction." + key + " default")
		}
	}
	r.run("/settings background_threshold Default")
	for _, line := range []string{"/settings keep_first = 2", "/settings compaction.keep_first=2", "/settings\nkeep_first\t2"} {
		r.wantAnswer(line, "From now on: compaction.keep_first = 2")
	}
	r.run("/settings keep_first = default")
	check.Lacks(t, "settings after the reset", r.run("/settings"), "set here")
}

// isFileOnly reports whether only the settings file may set a key.
func isFileOnly(key string) bool {
	return key == "model" || key == "worker_reasoning" || key == "prompt_file"
}

func TestInvalidSettingsChangeNothing(t *testing.T) {
	r := newRig(t, echo)
	r.run("/settings compaction.background_threshold 0.9 ")
	before := r.run("/settings")
	for _, test := range []struct{ line, want string }{
		{"/settings compaction.background_treshold 0.7", "background_treshold: there is no such setting, did you mean background_threshold?"},
		{"/settings no_such_thing 1", "no_such_thing: there is no such setting"},
		{"/settings compaction.background_threshold 80", "Nothing was changed. background_threshold = 80: must be from 0.10 to 0.99 (a share of 1: write 0.80 for 80 %)"},
		{"/settings compaction.background_threshold nan", "Nothing was changed. background_threshold = NaN: must be from 0.10 to 0.99"},
		{"/settings compaction.aggressive_threshold 0.96", "Nothing was changed. background_threshold = 0.8: must be below aggressive_threshold (0.96), which must be below emergency_threshold (0.95)"},
		{"/settings compaction.keep_first many", "Nothing was changed. keep_first = many: must be a whole number"},
		{"/settings compaction.prepare_threshold -1", "Nothing was changed. prepare_threshold = -1: must be 0 (off) or below background_threshold"},
		{"/settings compaction.focus " + strings.Repeat("x", 1001), "focus: must be at most 1000 characters"},
	} {
		check.HasPrefix(t, test.line, r.run(test.line), test.want)
	}
	check.Equal(t, "settings after the mistakes", r.run("/settings"), before)
}

func TestSettingsRequireManager(t *testing.T) {
	r := newRig(t, echo)
	for _, line := range []string{"/settings", "/settings compaction.keep_first 0"} {
		check.Contains(t, line, r.runAs(bo, place, line).Text, "for people who manage this place")
	}
	check.Contains(t, "setting afterwards", r.run("/settings keep_first"), "= 1 (built in)")
	choices := r.suggest("settings", "thresh")
	check.Len(t, "suggestions", choices, 4)
	check.Equal(t, "first suggestion", choices[0].Value, "compaction.background_threshold")
}

// One conversation is set to compact early and does so immediately; the other does not.
func TestSettingAppliesFromNextCheck(t *testing.T) {
	r := newRig(t, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) > 0 && req.Tools[len(req.Tools)-1].Name == "summarize" {
			return summary("They talked of a quick brown fox."), nil
		}
		return llmtest.Say(fmt.Sprintf("answer %d", n)), nil
	})
	r.model.Tokens = 6000
	r.agent.Worker = r.model
	r.reopen()
	other := "test:server/garden"
	for i := range 25 {
		text := fmt.Sprintf("turn %d %s", i, strings.Repeat("the quick brown fox ", 20))
		r.say(text, false)
		check.Must(r.hub.Deliver(t.Context(), other, r.inbound(text, false)))(t)
	}
	r.waitForReplies()
	r.run("/settings compaction.background_threshold 0.3")
	r.waitForEvent(compactor.EventApplied) // without another message
	check.Contains(t, "answer to /context", r.run("/context"), "last      leaf by extractive")
	check.Contains(t, "setting in the other conversation", r.runAs(boss, other, "/context").Text, "background at 80 %", "stack     empty")

	t.Run("it survives a settings edit and a restart", func(t *testing.T) {
		r.run("/pause")
		r.hub.Renew(channel.Rules{})
		r.waitForReplies()
		for range 2 {
			check.Equal(t, "answer", r.run("/settings background_threshold"), "compaction.background_threshold = 0.3 (set here by Ada)")
			if shown := r.run("/context"); !strings.Contains(shown, "aggressive at 85 %") && !strings.Contains(shown, "background at 30 %") {
				t.Errorf("/context says\n%s", shown)
			}
			conv := check.Must(r.store.Conversation(t.Context(), place))(t)
			beside, err := channel.ReadContext(t.Context(), conv, r.agent)
			if err != nil || beside.Next != "aggressive at 85 % (5100 tokens)" && beside.Next != "background at 30 % (1800 tokens)" {
				t.Errorf("beside the bot: %s, %v", beside.Next, err)
			}
			said := len(r.connector.texts())
			r.ask("are you there?")
			check.Equal(t, "answers while it is paused", len(r.connector.texts()), said)
			r.restart()
		}
	})
}

func TestConcurrentSettings(t *testing.T) {
	r := newRig(t, echo)
	var all sync.WaitGroup
	for _, line := range []string{"/settings keep_first 3", "/settings pin_budget 77", "/settings max_turns 5", "/settings cooldown 9m"} {
		all.Go(func() { r.run(line) })
	}
	all.Wait()
	r.waitForReplies()
	shown := r.run("/settings")
	check.Equal(t, "settings set here", strings.Count(shown, "set here"), 4)
}

func TestFileEditOverridesConflictingSetting(t *testing.T) {
	r := newRig(t, echo)
	var file atomic.Pointer[compactor.Policy]
	usual := compactor.DefaultPolicy()
	file.Store(&usual)
	r.agent.Policy = func() compactor.Policy { return *file.Load() }
	r.reopen()
	r.run("/settings compaction.background_threshold 0.82")
	r.run("/settings compaction.keep_last_n 7")
	r.waitForReplies()

	edited := usual
	edited.BackgroundThreshold, edited.AggressiveThreshold = 0.5, 0.6
	file.Store(&edited)
	for range 3 {
		r.ask("hello")
	}
	check.Equal(t, "answers", len(r.connector.texts()), 3)
	shown := r.run("/settings")
	why := "background_threshold = 0.82: must be below aggressive_threshold (0.6), which must be below emergency_threshold (0.95)"
	check.Contains(t, "answer", shown, "Ignored, because it conflicts with the settings file: "+why, "compaction.background_threshold = 0.5 (built in)", "compaction.keep_last_n = 7 (set here by Ada)")
	check.HasPrefix(t, "answer to another setting", r.run("/settings compaction.keep_first 0"), "From now on")
	file.Store(&usual)
	check.Equal(t, "setting after the edit was undone", r.run("/settings background_threshold"), "compaction.background_threshold = 0.82 (set here by Ada)")
}
