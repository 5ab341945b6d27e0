package channel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// filed sets the rig's policy as a settings file would; the test may edit it.
func (r *rig) filed(edit func(*compactor.Policy)) {
	p := compactor.DefaultPolicy()
	edit(&p)
	r.agent.Policy = func() compactor.Policy { return p }
}

func TestSettingsAreShownWithTheirOrigin(t *testing.T) {
	r := newRig(t, echo)
	r.filed(func(p *compactor.Policy) { p.KeepFirst, p.KeepLastN, p.PromptFile = 2, 9, "/home/somebody/prompt.md" })
	r.agent.Origin = func(key string) string {
		return map[string]string{"keep_first": "[defaults.compaction]", "keep_last_n": `[agents.compaction] of "cairn"`, "prompt_file": "[defaults.compaction]"}[key]
	}
	r.stop()
	r.start()
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
		if !strings.Contains(shown, "\n"+want) {
			t.Errorf("it does not show %s:\n%s", want, shown)
		}
	}
	for _, key := range compactor.Keys() {
		if strings.Count(shown, "\ncompaction."+key+" = ") != 1 {
			t.Errorf("it does not show %s once", key)
		}
		if line := r.run("/settings compaction." + key); !strings.HasPrefix(line, "compaction."+key+" = ") {
			t.Errorf("asked for %s it shows %q", key, line)
		}
	}
}

func TestEverySettingCanBeSetInAConversation(t *testing.T) {
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
		if fileOnly(key) {
			if !strings.Contains(line, "in the settings file") {
				t.Errorf("%s can be set: %q", key, line)
			}
			continue
		}
		if line != "From now on: compaction."+key+" = "+value+" (set here by Ada)" && line != fmt.Sprintf("From now on: compaction.%s = %q (set here by Ada)", key, value) {
			t.Errorf("%s = %s: %q", key, value, line)
		}
	}
	for _, key := range compactor.Keys() {
		if key != "background_threshold" && !fileOnly(key) {
			r.run("/settings compaction." + key + " default")
		}
	}
	r.run("/settings background_threshold default")
	if shown := r.run("/settings"); strings.Contains(shown, "set here") {
		t.Errorf("all was undone, and yet:\n%s", shown)
	}
}

// fileOnly reports whether only the settings file may set a key.
func fileOnly(key string) bool {
	return key == "model" || key == "worker_reasoning" || key == "prompt_file"
}

func TestMistakesInSettingsChangeNothing(t *testing.T) {
	r := newRig(t, echo)
	r.run("/settings compaction.background_threshold 0.9 ")
	before := r.run("/settings")
	for _, test := range []struct{ line, want string }{
		{"/settings compaction.background_treshold 0.7", "background_treshold: there is no such setting, did you mean background_threshold?"},
		{"/settings no_such_thing 1", "no_such_thing: there is no such setting. /settings shows them all."},
		{"/settings compaction.background_threshold 80", "Nothing was changed. background_threshold = 80: must be from 0.10 to 0.99 (a share of 1: write 0.80 for 80 %)"},
		{"/settings compaction.background_threshold nan", "Nothing was changed. background_threshold = NaN: must be from 0.10 to 0.99"},
		{"/settings compaction.aggressive_threshold 0.96", "Nothing was changed. background_threshold = 0.8: must be below aggressive_threshold (0.96), which must be below emergency_threshold (0.95)"},
		{"/settings compaction.keep_first many", "Nothing was changed. keep_first = many: must be a whole number"},
		{"/settings compaction.prepare_threshold -1", "Nothing was changed. prepare_threshold = -1: must be 0 (off) or below background_threshold"},
		{"/settings compaction.focus " + strings.Repeat("x", 1001), "focus: must be at most 1000 characters"},
	} {
		if got := r.run(test.line); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", test.line, got, test.want)
		}
	}
	expect(t, "they changed into", r.run("/settings"), before)
}

func TestSettingsAreForManagers(t *testing.T) {
	r := newRig(t, echo)
	for _, line := range []string{"/settings", "/settings compaction.keep_first 0"} {
		answer, handled, err := r.hub.Run(t.Context(), place, channel.Person{ID: "u2", Name: "Bo"}, line)
		if err != nil || !handled || !strings.Contains(answer.Text, "for those who manage this place") {
			t.Errorf("%s: %q, %v", line, answer, err)
		}
	}
	contains(t, "afterwards", r.run("/settings keep_first"), "= 1 (built in)")
	if choices, err := r.hub.Suggest(t.Context(), place, channel.Person{ID: "u1", Manager: true}, "settings", "thresh"); err != nil || len(choices) != 4 || choices[0].Value != "compaction.background_threshold" {
		t.Errorf("suggested %v, %v", choices, err)
	}
}

// In a direct message everyone has management rights. Settings that cost money still belong to the
// people named in the settings file.
func TestAStrangerInADirectMessageSetsNothingThatCosts(t *testing.T) {
	r := newRig(t, echo).with(channel.Rules{Access: map[string]channel.Access{"test": {Owners: []string{"u2"}, Managers: []string{"u3"}}}})
	run := func(where, id, line string) string {
		t.Helper()
		answer, handled, err := r.hub.Run(t.Context(), where, channel.Person{ID: id, Name: id, Manager: true}, line)
		if err != nil || !handled {
			t.Fatalf("%s: %v, %v", line, handled, err)
		}
		return answer.Text
	}
	const direct = "test:@me/d1"
	for _, key := range compactor.Keys() {
		if key == "notify" || key == "focus" {
			continue
		}
		value := compactor.DefaultPolicy().Value(key)
		if got := run(direct, "u1", "/settings compaction."+key+" "+value); strings.HasPrefix(got, "From now on") {
			t.Errorf("%s = %s: %s", key, value, got)
		}
	}
	for _, c := range []struct{ where, id, line, want string }{
		{direct, "u1", "/settings compaction.compact_at_tokens 2000", "In a direct message you may set notify and focus."},
		{direct, "u1", "/settings compaction.compact_at_tokens", "compaction.compact_at_tokens = 0 (built in)"},
		{direct, "u1", "/settings compaction.notify message", `From now on: compaction.notify = "message" (set here by u1)`},
		{direct, "u2", "/settings compaction.max_turns 3", "From now on"},
		{direct, "u3", "/settings compaction.max_turns 4", "From now on"},
		{direct, "u1", "/settings compaction.max_turns default", "In a direct message"},
		{place, "u1", "/settings compaction.max_turns 5", "From now on"},
	} {
		if got := run(c.where, c.id, c.line); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s of %s in %s: %q, want %q", c.line, c.id, c.where, got, c.want)
		}
	}
}

// One conversation is set to compact early and does so immediately; the other does not.
func TestASettingHoldsInItsConversationFromTheNextCheckOn(t *testing.T) {
	r := newRig(t, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) > 0 && req.Tools[len(req.Tools)-1].Name == "summarize" {
			return llmtest.Use(llmtest.Call("s", "summarize", map[string]string{"summary": "They talked of a quick brown fox."})), nil
		}
		return llmtest.Say(fmt.Sprintf("answer %d", n)), nil
	})
	r.model.Tokens = 6000
	r.agent.Worker = r.model
	r.stop()
	r.start()
	other := "test:server/garden"
	for i := range 25 {
		text := fmt.Sprintf("turn %d %s", i, strings.Repeat("the quick brown fox ", 20))
		r.say(text, false)
		must(r.hub.Deliver(t.Context(), other, r.inbound(text, false)))(t)
	}
	r.idle()
	applied := func() (n int) {
		for _, e := range r.connector.events {
			if e.State == compactor.EventApplied {
				n++
			}
		}
		return n
	}
	r.run("/settings compaction.background_threshold 0.3")
	r.connector.until(t, "a landing without another message", func() bool { return applied() > 0 })
	contains(t, "/context says", r.run("/context"), "last      leaf by extractive")
	answer, _, err := r.hub.Run(t.Context(), other, channel.Person{ID: "u1", Manager: true}, "/context")
	if err != nil || !strings.Contains(answer.Text, "background at 80 %") || !strings.Contains(answer.Text, "stack     empty") {
		t.Errorf("the other conversation: %s, %v", answer.Text, err)
	}

	t.Run("it outlasts renewal and restart, as a pause does", func(t *testing.T) {
		r.run("/pause")
		r.hub.Renew(channel.Rules{})
		r.idle()
		for range 2 {
			expect(t, "the result", r.run("/settings background_threshold"), "compaction.background_threshold = 0.3 (set here by Ada)")
			if shown := r.run("/context"); !strings.Contains(shown, "aggressive at 85 %") && !strings.Contains(shown, "background at 30 %") {
				t.Errorf("/context says\n%s", shown)
			}
			conv := must(r.store.Conversation(t.Context(), place))(t)
			beside, err := channel.Gauge(t.Context(), conv, r.agent)
			if err != nil || beside.Next != "aggressive at 85 % (5100 tokens)" && beside.Next != "background at 30 % (1800 tokens)" {
				t.Errorf("beside the bot: %s, %v", beside.Next, err)
			}
			said := len(r.connector.texts())
			r.say("are you there?", true)
			r.idle()
			expect(t, "answers while it is paused", len(r.connector.texts()), said)
			r.restart()
		}
	})
}

func TestTwoSettingsAtOnceBothHold(t *testing.T) {
	r := newRig(t, echo)
	var all sync.WaitGroup
	for _, line := range []string{"/settings keep_first 3", "/settings pin_budget 77", "/settings max_turns 5", "/settings cooldown 9m"} {
		all.Go(func() { r.run(line) })
	}
	all.Wait()
	r.idle()
	shown := r.run("/settings")
	if strings.Count(shown, "set here") != 4 {
		t.Errorf("it shows\n%s", shown)
	}
}

func TestAFileEditAtOddsWithASettingLeavesOnlyThatOut(t *testing.T) {
	var log safeBuffer
	r := newRig(t, echo)
	var file atomic.Pointer[compactor.Policy]
	usual := compactor.DefaultPolicy()
	file.Store(&usual)
	r.agent.Policy = func() compactor.Policy { return *file.Load() }
	r.opts.Log = slog.New(slog.NewTextHandler(&log, nil))
	r.stop()
	r.start()
	r.run("/settings compaction.background_threshold 0.82")
	r.run("/settings compaction.keep_last_n 7")
	r.idle()

	edited := usual
	edited.BackgroundThreshold, edited.AggressiveThreshold = 0.5, 0.6
	file.Store(&edited)
	for range 3 {
		r.say("hello", true)
		r.idle()
	}
	expect(t, "answers", len(r.connector.texts()), 3)
	shown := r.run("/settings")
	why := "background_threshold = 0.82: must be below aggressive_threshold (0.6), which must be below emergency_threshold (0.95)"
	if !strings.Contains(shown, "Left out, for it does not go with the settings file: "+why) ||
		!strings.Contains(shown, "compaction.background_threshold = 0.5 (built in)") || !strings.Contains(shown, "compaction.keep_last_n = 7 (set here by Ada)") {
		t.Errorf("it shows\n%s", shown)
	}
	if n := strings.Count(log.String(), why); n != 1 {
		t.Errorf("the log tells it %d times:\n%s", n, log.String())
	}
	if got := r.run("/settings compaction.keep_first 0"); !strings.HasPrefix(got, "From now on") {
		t.Errorf("another setting: %q", got)
	}
	file.Store(&usual)
	expect(t, "after the edit was undone", r.run("/settings background_threshold"), "compaction.background_threshold = 0.82 (set here by Ada)")
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestRenewal(t *testing.T) {
	var agent atomic.Pointer[channel.Agent]
	r := newRig(t, echo)
	r.model.Tokens = 8000
	r.stop()
	first := channel.Agent{ID: "first", Model: r.model, MaxOutput: 500, Policy: compactor.DefaultPolicy}
	agent.Store(&first)
	r.opts.Agent = func(string) channel.Agent { return *agent.Load() }
	r.start()
	r.say("I like tea", true)
	r.idle()

	second := first
	second.ID, second.Instructions = "second", "You are a librarian."
	second.Model = &llmtest.Model{Tokens: 16_000, Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		if !strings.Contains(req.Messages[0].Text, "librarian") || !strings.Contains(req.Messages[len(req.Messages)-1].Text, "what do I like") || !strings.Contains(fmt.Sprint(req.Messages), "I like tea") {
			t.Errorf("it was asked %+v", req.Messages)
		}
		return llmtest.Say("tea, says the librarian"), nil
	}}
	agent.Store(&second)
	r.hub.Renew(channel.Rules{Access: map[string]channel.Access{"test": {Deny: []string{"u9"}}}, Restricted: []string{}})
	r.say("what do I like?", true)
	r.idle()
	if texts := r.connector.texts(); texts[len(texts)-1] != "tea, says the librarian" {
		t.Errorf("it said %q", texts)
	}
	contains(t, "/context says", r.run("/context"), "of 16000 tokens")
	m := r.inbound("let me in", true)
	m.AuthorID = "u9"
	if _, err := r.hub.Deliver(t.Context(), place, m); !errors.Is(err, channel.ErrRefused) {
		t.Errorf("the new rules refuse nobody: %v", err)
	}
	if answer, _, err := r.hub.Run(t.Context(), place, channel.Person{ID: "u2"}, "/settings"); err != nil || strings.Contains(answer.Text, "manage") {
		t.Errorf("the new rules restrict /settings: %v, %v", answer, err)
	}
}

func TestRenewalWaitsForASummaryThatIsBeingWritten(t *testing.T) {
	var agent atomic.Pointer[channel.Agent]
	goOn := make(chan struct{})
	r := newRig(t, echo)
	r.stop()
	first := channel.Agent{ID: "first", Model: r.model, MaxOutput: 500, Policy: compactor.DefaultPolicy}
	first.Worker = &llmtest.Model{Func: func(ctx context.Context, n int, _ llm.Request) (llm.Response, error) {
		select {
		case <-goOn:
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
		return llmtest.Use(llmtest.Call("s", "summarize", map[string]string{"summary": "They talked of a quick brown fox."})), nil
	}}
	agent.Store(&first)
	r.opts.Agent = func(string) channel.Agent { return *agent.Load() }
	r.start()
	for i := range 20 {
		r.say(fmt.Sprintf("turn %d %s", i, strings.Repeat("the quick brown fox ", 10)), false)
	}
	r.idle()
	r.run("/compact")
	second := first
	second.Model = &llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say("the second"), nil }}
	agent.Store(&second)
	r.hub.Renew(channel.Rules{})
	r.say("who is there?", true)
	r.idle()
	close(goOn)
	r.connector.until(t, "the summary", func() bool {
		return len(r.connector.events) > 0 && r.connector.events[len(r.connector.events)-1].State == compactor.EventApplied
	})
	noError(t, r.hub.Drain(t.Context()))
	r.say("and now?", true)
	r.idle()
	equal(t, "said", r.connector.texts(), []string{"answer 1", "the second"})
}

// silentConnector shows nothing of a compaction itself, like the connector of a platform.
type silentConnector struct {
	inner *connector
	mu    sync.Mutex // guards marked
	marks []string
}

func (d *silentConnector) Name() string               { return "test" }
func (d *silentConnector) Split(text string) []string { return d.inner.Split(text) }
func (d *silentConnector) Reply(conversation string, to []string) channel.Writer {
	return d.inner.Reply(conversation, to)
}

// reactingConnector can put reactions on messages.
type reactingConnector struct{ silentConnector }

func (d *reactingConnector) React(_ context.Context, conversation, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.marks = append(d.marks, conversation+" "+id)
	return nil
}

func (d *reactingConnector) marked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string{}, d.marks...)
}

var appliedCompactions = []struct {
	notify string
	tokens int
	marks  int
	notice string
	fails  bool // the worker fails
}{
	{notify: "off"},
	{notify: "off", tokens: 3000}, // an emergency, equally silent
	{notify: "message", notice: "(I summarized 16 older messages. Nothing is lost.)"},
	{notify: "message", tokens: 3000, notice: "older messages aside to make room"},
	{notify: "reaction", marks: 1},
	{notify: "message", fails: true},
	{notify: "reaction", fails: true},
}

func TestWhatPeopleSeeOfAnAppliedCompaction(t *testing.T) {
	for _, test := range appliedCompactions {
		t.Run(fmt.Sprintf("%s, window %d", test.notify, test.tokens)+map[bool]string{true: ", it fails"}[test.fails], func(t *testing.T) {
			r := newRig(t, echo)
			connector := &reactingConnector{silentConnector{inner: r.connector}}
			r.opts.Connectors = []channel.Connector{connector}
			r.filed(func(p *compactor.Policy) { p.Notify, p.Enabled = test.notify, test.tokens == 0 })
			r.model.Tokens = test.tokens
			r.agent.Worker = &llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) {
				if test.fails {
					return llm.Response{}, errors.New("broken")
				}
				return llmtest.Use(llmtest.Call("s", "summarize", map[string]string{"summary": "They talked of a quick brown fox."})), nil
			}}
			var mu sync.Mutex
			applied := 0
			r.opts.After = func(conversation string, e channel.Event) {
				mu.Lock()
				defer mu.Unlock()
				expect(t, "the conversation of an event", conversation, place)
				if e.State == compactor.EventApplied || e.State == compactor.EventFailed {
					applied++
				}
			}
			r.stop()
			r.start()
			last := ""
			for i := range 20 {
				m := r.inbound(fmt.Sprintf("turn %d %s", i, strings.Repeat("the quick brown fox ", 20)), false)
				last = m.ID
				must(r.hub.Deliver(t.Context(), place, m))(t)
			}
			r.idle()
			if test.tokens == 0 {
				r.run("/compact")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			for range 2 { // the second waits for the effects of the first
				noError(t, r.hub.Drain(ctx))
			}
			mu.Lock()
			if applied == 0 {
				t.Error("nothing applied: the test shows nothing")
			}
			mu.Unlock()
			r.say("and on it goes", false)
			r.idle()
			said := r.connector.texts()
			if len(said) > 0 && !r.connector.sent[0].Failure {
				t.Error("the notice goes out as the assistant's words")
			}
			if test.notice == "" && len(said) > 0 || test.notice != "" && (len(said) != 1 || !strings.Contains(said[0], test.notice)) {
				t.Errorf("it said %q", said)
			}
			for _, line := range r.transcript() {
				if strings.HasPrefix(line, "assistant") {
					t.Errorf("the transcript has %q", line)
				}
			}
			r.restart()
			r.idle()
			expect(t, "after a restart it said", len(r.connector.texts()), len(said))
			r.stop()
			if marks := connector.marked(); len(marks) != test.marks || test.marks > 0 && marks[0] != place+" "+last {
				t.Errorf("it marked %q", marks)
			}
		})
	}
}

func TestAHookForbidsACompaction(t *testing.T) {
	r := newRig(t, echo)
	r.agent.Worker = r.model
	r.opts.Before = func(_ context.Context, conversation string, e compactor.Proposal) (string, error) {
		return "", fmt.Errorf("%s keeps its %d messages", conversation, e.Messages)
	}
	r.stop()
	r.start()
	for range 20 {
		r.say("hello", false)
	}
	r.idle()
	expect(t, "the result", r.run("/compact"), "No compaction was started: "+place+" keeps its 16 messages.")
	contains(t, "/context says", r.run("/context"), "last      noop: "+place+" keeps its 16 messages")
}

func TestAThreadHasItsChannelsSettings(t *testing.T) {
	r := newRig(t, echo)
	const thread = place + "/t1"
	in := func(line string) string {
		t.Helper()
		answer, handled, err := r.hub.Run(t.Context(), thread, channel.Person{ID: "u1", Name: "Bob", Manager: true}, line)
		if err != nil || !handled {
			t.Fatalf("%s: handled %v, %v", line, handled, err)
		}
		return answer.String()
	}
	shows := func(want string) {
		t.Helper()
		expect(t, "the thread shows", in("/settings compaction.pin_budget"), want)
	}
	must(r.hub.Deliver(t.Context(), thread, r.inbound(strings.Repeat("the quick brown fox ", 50), true)))(t)
	noError(t, r.hub.Idle(t.Context(), thread))
	in("/pin 1")
	shows("compaction.pin_budget = 1000 (built in)")

	r.run("/settings compaction.pin_budget 60") // the thread is open
	shows("compaction.pin_budget = 60 (set in the channel by Ada)")
	deadline := time.Now().Add(10 * time.Second)
	for !strings.Contains(in("/pins"), " of the 60 tokens") && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	contains(t, "the open thread goes on as before", in("/pins"), " of the 60 tokens")

	in("/settings compaction.pin_budget 70")
	shows("compaction.pin_budget = 70 (set here by Bob)")
	expect(t, "the channel shows", r.run("/settings compaction.pin_budget"), "compaction.pin_budget = 60 (set here by Ada)")
	if got := in("/settings compaction.pin_budget default"); got != "From now on: compaction.pin_budget = 60 (set in the channel by Ada)" {
		t.Errorf("undone in the thread: %q", got)
	}
	if got := in("/settings compaction.background_threshold 0.99"); !strings.HasPrefix(got, "Nothing was changed.") {
		t.Errorf("what does not go with the rest: %q", got)
	}
	shows("compaction.pin_budget = 60 (set in the channel by Ada)")
}
