package channel_test

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/compactor"
	"cairn/testkit/check"
	"cairn/testkit/wordstest"
)

// setFilePolicy sets the rig's policy as a settings file would; the test may edit it.
func (r *rig) setFilePolicy(edit func(*compactor.Policy)) {
	p := compactor.DefaultPolicy()
	edit(&p)
	r.agent.Policy = func() compactor.Policy { return p }
}

func TestEverySettingIsShownWithItsOriginAndMayBeSet(t *testing.T) {
	r := newRig(t, echo)
	r.setFilePolicy(func(p *compactor.Policy) {
		p.KeepFirst = 2
		p.KeepLastN = 9
		p.PromptFile = "/home/somebody/prompt.md"
	})
	r.agent.Origin = func(key string) string {
		return map[string]string{"keep_first": "[defaults.compaction]", "keep_last_n": `[agents.compaction] of "cairn"`, "prompt_file": "[defaults.compaction]"}[key]
	}
	r.reopen()
	r.run("/settings compaction.pin_budget 0")
	shown := r.run("/settings")
	check.Contains(t, "/settings", shown, "\ncompaction.keep_first = 2 ([defaults.compaction])",
		"\ncompaction.keep_last_n = 9 ([agents.compaction] of \"cairn\")", "\ncompaction.pin_budget = 0 (set here by Ada)",
		"\ncompaction.tail_tokens = 16000 (built in)", "\ncompaction.prepare_threshold = 0.6 (follows background_threshold)",
		"\ncompaction.notify = \"off\" (built in)", "\ncompaction.prompt_file = \"prompt.md\" ([defaults.compaction])")
	for _, key := range compactor.Keys() {
		check.Equal(t, "lines of "+key, strings.Count(shown, "\ncompaction."+key+" = "), 1)
		check.HasPrefix(t, key, r.run("/settings compaction."+key), "compaction."+key+" = ")
		value := cmp.Or(map[string]string{"prepare_threshold": "0"}[key], compactor.DefaultPolicy().Value(key), "titles of books") // its default is no value
		line := strings.ReplaceAll(r.run("/settings compaction."+key+" "+value), `"`, "")
		if key == "model" || key == "worker_reasoning" || key == "prompt_file" {
			check.Contains(t, key, line, "in the settings file")
			continue
		}
		check.Equal(t, "answer", line, "From now on: compaction."+key+" = "+value+" (set here by Ada)")
	}
	var all sync.WaitGroup // several at once
	for _, key := range compactor.Keys() {
		all.Go(func() { r.run("/settings " + key + " Default") })
	}
	all.Wait()
	for _, line := range []string{"/settings keep_first = 2", "/settings compaction.keep_first=2", "/settings\nkeep_first\t2"} {
		r.wantAnswer(line, "From now on: compaction.keep_first = 2")
	}
	r.run("/settings keep_first = default")
	check.Lacks(t, "settings after the reset", r.run("/settings"), "set here")
}

func TestSeveralSettingsChangeTogetherOrNotAtAll(t *testing.T) {
	r := newRig(t, echo)
	r.wantAnswer("/settings compaction.keep_first = 2\n"+command.Assignment("pin_budget", "700")+"\n"+command.Assignment("focus", "say \"hello\"\n twice"),
		"From now on: compaction.keep_first = 2 (set here by Ada)\nFrom now on: compaction.pin_budget = 700 (set here by Ada)\nFrom now on: compaction.focus = \"say \\\"hello\\\" twice\" (set here by Ada)")
	r.wantAnswer("/settings compaction.keep_first = 3\ncompaction.pin_budget = many", "Nothing was changed. pin_budget = many: must be a whole number")
	check.Contains(t, "settings", r.run("/settings"), "compaction.keep_first = 2 (set here")
	r.run("/settings " + command.Assignment("keep_first", "") + "\n" + command.Assignment("pin_budget", " "))
	check.Equal(t, "what is set here", strings.Count(r.run("/settings"), "set here"), 1)
	r.wantAnswer("/settings focus tea\nand cake", "From now on: compaction.focus = \"tea\\nand cake\" (set here by Ada)")
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
	// A manager of a place is not the person who runs the bot: what costs money is set in the file only.
	for _, key := range []string{
		"prompt_file", "compaction.prompt_file", "COMPACTION.PROMPT_FILE", "model", "compaction.model", "base_url", "llm.base_url", "api_key", "llm.api_key", "data_dir", "owners", "discord.owners",
		"instructions", "agents", "context_window", "turns_per_minute", "share_memories", "compaction.compaction.prompt_file", "compaction\u200b.model",
	} {
		for _, value := range []string{"/etc/passwd", "http://evil.example/v1", `"x"`, "u66"} {
			check.Lacks(t, key, r.run("/settings "+key+" "+value), "From now on")
		}
	}
	check.Equal(t, "settings after the mistakes", r.run("/settings"), before)
	choices := r.suggest("settings", "thresh")
	check.Len(t, "suggestions", choices, 4)
	check.Equal(t, "first suggestion", choices[0].Value, "compaction.background_threshold")
}

// One conversation is set to compact early and does so immediately; the other does not.
func TestSettingAppliesFromNextCheck(t *testing.T) {
	r := newRig(t, echo).withWindow(6000)
	r.withWorker(always(summary("They talked of a quick brown fox."))).Tokens = 6000
	const other = "test:server/garden"
	for i := range 25 {
		text := fmt.Sprintf("turn %d %s", i, strings.Repeat("the quick brown fox ", 20))
		r.say(text, false)
		check.NoError(t, r.deliverTo(other, text, func(*channel.Inbound) {}))
	}
	r.waitForReplies()
	r.run("/settings compaction.background_threshold 0.3")
	r.waitForEvent(compactor.EventApplied) // without another message
	r.wantAnswer("/context", "last      leaf by extractive")
	r.says(boss, other, "/context", "background at 80 %", "stack     empty")

	// It survives a settings edit and a restart.
	r.run("/pause")
	r.hub.Renew(access.Rules{})
	r.waitForReplies()
	next := regexp.MustCompile(`(aggressive at 85 % \(5100|background at 30 % \(1800) tokens\)`)
	for range 2 {
		r.wantAnswer("/settings background_threshold", "compaction.background_threshold = 0.3 (set here by Ada)")
		check.That(t, next.MatchString(r.run("/context")), "got another level in /context")
		conv := check.Must(r.store.Conversation(t.Context(), place))(t)
		beside := check.Must(channel.ReadContext(t.Context(), conv, r.agent))(t).Next
		check.That(t, next.MatchString(beside), "beside the bot: got the level %s", beside)
		r.ask("are you there?")
		check.Len(t, "answers while it is paused", r.connector.texts(), 0)
		r.restart()
	}
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
	edited.BackgroundThreshold = 0.5
	edited.AggressiveThreshold = 0.6
	file.Store(&edited)
	check.Equal(t, "answer", r.ask("hello"), "answer 1")
	r.wantAnswer("/settings", "Ignored, because it conflicts with the settings file: background_threshold = 0.82: must be below aggressive_threshold (0.6)",
		"compaction.background_threshold = 0.5 (built in)", "compaction.keep_last_n = 7 (set here by Ada)")
	r.wantAnswer("/settings compaction.keep_first 0", "From now on")
	file.Store(&usual)
	r.wantAnswer("/settings background_threshold", "compaction.background_threshold = 0.82 (set here by Ada)")
}

// In a direct message everyone has management rights; costly settings belong to those whom the file names.
func TestDirectMessageCannotSetCostlySettings(t *testing.T) {
	r := newRig(t, echo).withRules(access.Rules{Access: map[string]access.Access{"test": {Owners: []string{"u2"}, Managers: []string{"u3"}}}})
	run := func(where, id, line, want string) {
		t.Helper()
		check.HasPrefix(t, line+" of "+id+" in "+where, r.runAs(access.Person{ID: id, Name: id, Manager: true}, where, line).Text, want)
	}
	const direct = "test:@me/d1"
	for _, key := range compactor.Keys() {
		if key != "notify" && key != "focus" {
			run(direct, "u1", "/settings compaction."+key+" "+cmp.Or(compactor.DefaultPolicy().Value(key), "x"), "In a direct message you may set notify and focus.")
		}
	}
	for _, c := range []struct{ where, id, line, want string }{
		{direct, "u1", "/settings compaction.compact_at_tokens", "compaction.compact_at_tokens = 0 (built in)"},
		{direct, "u1", "/settings compaction.notify message", `From now on: compaction.notify = "message" (set here by u1)`},
		{direct, "u2", "/settings compaction.max_turns 3", "From now on"},
		{direct, "u3", "/settings compaction.max_turns 4", "From now on"},
		{direct, "u1", "/settings compaction.max_turns default", "In a direct message"},
		{place, "u1", "/settings compaction.max_turns 5", "From now on"},
	} {
		run(c.where, c.id, c.line, c.want)
	}
}

func TestThreadInheritsSettings(t *testing.T) {
	r := newRig(t, echo)
	bob := access.Person{ID: "u1", Name: "Bob", Manager: true}
	in := func(line, want string) { t.Helper(); r.says(bob, branch, line, want) }
	r.tell(branch, strings.Repeat("the quick brown fox ", 50), addressed)
	in("/pin 1", "#1 is pinned")
	in("/settings compaction.pin_budget", "compaction.pin_budget = 1000 (built in)")

	r.run("/settings compaction.pin_budget 60") // the thread is open
	in("/settings compaction.pin_budget", "compaction.pin_budget = 60 (set in the channel by Ada)")
	shows := func() bool {
		return strings.Contains(r.runAs(bob, branch, "/pins").String(), "pin_budget allows 60 tokens")
	}
	check.That(t, check.Soon(shows), "the open thread keeps its setting")

	in("/settings compaction.pin_budget 70", "From now on: compaction.pin_budget = 70 (set here by Bob)")
	r.wantAnswer("/settings compaction.pin_budget", "compaction.pin_budget = 60 (set here by Ada)")
	in("/settings compaction.pin_budget default", "From now on: compaction.pin_budget = 60 (set in the channel by Ada)")
	in("/settings compaction.background_threshold 0.99", "Nothing was changed.")
	in("/settings compaction.pin_budget", "compaction.pin_budget = 60 (set in the channel by Ada)")
}

func TestPerMessageSettings(t *testing.T) {
	r := newRig(t, echo)
	r.setFilePolicy(func(p *compactor.Policy) { p.PrepareThreshold = 0 })
	r.restart()
	compactions := func(settings channel.Patch) int {
		r.sendNotes(40)
		r.tell(place, "go ahead", func(m *channel.Inbound) {
			m.Addressed = true
			m.Compaction = settings
		})
		check.NoError(t, r.hub.Drain(t.Context()))
		return len(r.eventsIn(compactor.EventApplied))
	}
	check.Equal(t, "compactions by the policy", compactions(nil), 0)
	inTurn := compactions(channel.Patch{"compact_at_tokens": "2000", "strategy": "window", "background_threshold": "0.97"}) // the last is invalid, and ignored
	check.That(t, inTurn > 0, "got no compaction in the turn")
	check.Contains(t, "summary", r.connector.events[len(r.connector.events)-1].Summary, "without a summary")
	r.wantAnswer("/settings compaction.strategy", `"worker" (built in)`)
	check.Equal(t, "compactions in the next turn", compactions(nil), inTurn)
}

// The log's warning and /context count the same tools.
func TestWindowCheckCountsAllTools(t *testing.T) {
	r := newRig(t, echo).withWindow(1000)
	_, line, _ := strings.Cut(r.run("/context"), "\nof which  ")
	frame, _, _ := strings.Cut(line, " ")
	check.Contains(t, "warning", r.agent.ValidateWindow(t.Context()), " "+frame+" are needed for system prompt and tools")
}

func TestCommands(t *testing.T) {
	r := newRig(t, echo)
	for _, line := range []string{"/etc/passwd", "hello", "/", "/compactify"} {
		_, handled, err := r.hub.Run(t.Context(), place, access.Person{}, line)
		check.That(t, !handled && err == nil, "%q: got a command (%v), want text", line, err)
	}
	for line, want := range map[string]string{
		"/help":      "/compact [focus]",
		"/context":   "of 128000 tokens",
		"/compact":   "No compaction was started",
		"/memories":  "No memories from this conversation yet",
		"/remember":  "What should I remember?",
		"/forget":    "Give its number",
		"/forget 99": "This conversation has no memory 99",
		"/HELP":      "/help",
		"/stop 3":    "/stop takes no arguments.",
	} {
		r.wantAnswer(line, want)
	}
}

// FuzzCommand sends any line, as a person or a manager: it is no command, or its answer is text for people.
func FuzzCommand(f *testing.F) {
	args := []string{"", "-1 2 3", "#9223372036854775808", "me everywhere", "compaction.keep_last_n 7", "pin 1", "kind:x page:0"}
	for i, c := range command.All {
		for n, args := range args {
			f.Add("/"+c.Name+" "+args, "x", (i+n)%2 == 0)
		}
		f.Add(" /"+strings.ToUpper(c.Name)+"\t\n1", c.Name, true)
	}
	for i, text := range wordstest.Texts() {
		f.Add("/recall "+text, text, i%2 == 0)
		f.Add("/"+text, text, true)
	}
	r := newRig(f, echo)
	r.overhear("the plum is ripe")
	f.Fuzz(func(t *testing.T, line, typed string, manager bool) {
		answer, handled, err := r.hub.Run(t.Context(), place, access.Person{ID: "u6", Name: typed, Manager: manager}, line)
		check.Require(t, err == nil, "%q: %v", line, err)
		_, _, is := command.Parse(line)
		check.Require(t, handled == is && (!handled || answer.String() != "" || answer.Then != nil),
			"%q: handled %v, %+v", line, handled, answer)
		for page := range answer.Pages() {
			_ = answer.Page(page)
		}
		_, err = r.hub.Suggest(t.Context(), place, access.Person{ID: "u5"}, line, typed)
		check.Require(t, err == nil, "suggestions for %q: %v", line, err)
	})
}
