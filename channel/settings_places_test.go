package channel_test

import (
	"cmp"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
)

// In a direct message everyone has management rights. Settings that cost money still belong to the
// people named in the settings file.
func TestDirectMessageCannotSetCostlySettings(t *testing.T) {
	r := newRig(t, echo).withRules(channel.Rules{Access: map[string]channel.Access{"test": {Owners: []string{"u2"}, Managers: []string{"u3"}}}})
	run := func(where, id, line, want string) {
		t.Helper()
		check.HasPrefix(t, line+" of "+id+" in "+where, r.runAs(channel.Person{ID: id, Name: id, Manager: true}, where, line).Text, want)
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
	const thread = place + "/t1"
	in := func(line string) string {
		t.Helper()
		return r.runAs(channel.Person{ID: "u1", Name: "Bob", Manager: true}, thread, line).String()
	}
	shows := func(want string) {
		t.Helper()
		check.Equal(t, "setting in the thread", in("/settings compaction.pin_budget"), want)
	}
	r.tell(thread, strings.Repeat("the quick brown fox ", 50), addressed)
	in("/pin 1")
	shows("compaction.pin_budget = 1000 (built in)")

	r.run("/settings compaction.pin_budget 60") // the thread is open
	shows("compaction.pin_budget = 60 (set in the channel by Ada)")
	check.That(t, check.Soon(func() bool { return strings.Contains(in("/pins"), "Pins may take 60 tokens") }), "the open thread keeps its setting")

	in("/settings compaction.pin_budget 70")
	shows("compaction.pin_budget = 70 (set here by Bob)")
	r.wantAnswer("/settings compaction.pin_budget", "compaction.pin_budget = 60 (set here by Ada)")
	check.HasPrefix(t, "answer to the reset in the thread", in("/settings compaction.pin_budget default"), "From now on: compaction.pin_budget = 60 (set in")
	check.HasPrefix(t, "conflicting setting", in("/settings compaction.background_threshold 0.99"), "Nothing was changed.")
	shows("compaction.pin_budget = 60 (set in the channel by Ada)")
}

// sayWith sends a message to the bot, with settings for the turn that answers it, and returns how
// many compactions have been applied since the start.
func (r *rig) sayWith(text string, settings channel.Patch) int {
	r.t.Helper()
	r.tell(place, text, func(m *channel.Inbound) { m.Addressed, m.Compaction = true, settings })
	check.NoError(r.t, r.hub.Drain(r.t.Context()))
	return len(r.eventsIn(compactor.EventApplied))
}

func TestPerMessageSettings(t *testing.T) {
	r := newRig(t, echo)
	r.setFilePolicy(func(p *compactor.Policy) { p.PrepareThreshold = 0 })
	r.restart()
	r.sendNotes(40)
	check.Equal(t, "compactions by the policy", r.sayWith("go ahead", nil), 0)
	inTurn := r.sayWith("and now?", channel.Patch{"compact_at_tokens": "2000", "strategy": "window", "background_threshold": "0.97"}) // the last is invalid, and ignored
	check.That(t, inTurn > 0, "got no compaction in the turn")
	check.Contains(t, "summary", r.connector.events[len(r.connector.events)-1].Summary, "without a summary")
	r.wantAnswer("/settings compaction.strategy", `"worker" (built in)`)
	r.sendNotes(40)
	check.Equal(t, "compactions in the next turn", r.sayWith("and then?", nil), inTurn)
}

// The log's warning and /context count the same tools.
func TestWindowCheckCountsAllTools(t *testing.T) {
	r := newRig(t, echo)
	r.model.Tokens = 1000
	_, line, _ := strings.Cut(r.run("/context"), "\nof which  ")
	frame, _, _ := strings.Cut(line, " ")
	check.Contains(t, "warning", r.agent.ValidateWindow(t.Context()), " "+frame+" are needed for system prompt and tools")
}
