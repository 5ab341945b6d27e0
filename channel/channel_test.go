package channel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
	"cairn/store"
	"cairn/words/wordstest"
)

// Deliver does not wait for the turn.
func TestBurstBecomesOneTurn(t *testing.T) {
	inBubble(t, after(5*time.Second, echo), func(t *testing.T, r *rig) {
		r.say("one", true)
		synctest.Wait()
		for i := range 5 {
			r.say(fmt.Sprint("more ", i), i != 2)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		check.EqualAll(t, "accepted during the first turn", slices.Sorted(slices.Values(r.connector.accepted)), []string{"m1=1", "m2=0", "m3=0", "m4=0", "m5=0", "m6=0"})
		r.waitForReplies()
		synctest.Wait()
		check.EqualAll(t, "accepted after it", r.connector.accepted[6:], []string{"m2=3", "m3=4", "m4=5", "m5=6", "m6=7"})
		check.EqualAll(t, "sent", r.connector.texts(), []string{"answer 1", "answer 2"})
		check.EqualAll(t, "transcript", r.transcript(), []string{
			"user: one", "assistant: answer 1", "user: more 0", "user: more 1", "user: more 2", "user: more 3", "user: more 4", "assistant: answer 2",
		})
		check.Equal(t, "id of the reply", r.connector.sent[1].Reply, "reply-8")
		check.EqualAll(t, "answered", r.connector.sent[1].To, []string{"m2", "m3", "m5", "m6"})
	})
}

func TestTools(t *testing.T) {
	calls := llmtest.Use(llmtest.Call("call_0", "memory_save", map[string]any{"content": "Ada likes tea.", "kind": "preference"}),
		llmtest.Call("call_1", "no_such_tool", map[string]any{}))
	calls.Message.Text = "Let me note that."
	r := newRig(t, inTurn(calls, llmtest.Say("Noted.")))
	r.ask("I like tea")
	request := r.model.Requests()[1].Messages
	last := request[len(request)-1]
	check.Equal(t, "call of the answer to an unknown tool", last.CallID, "call_1")
	check.HasPrefix(t, "answer to an unknown tool", last.Text, "Error: there is no tool")
	check.EqualAll(t, "sent", r.connector.texts(), []string{"Let me note that.\n\nNoted."})
	check.EqualAll(t, "memories", r.connector.memories, []string{"Ada likes tea."})
	check.Equal(t, "stored rows", len(r.transcript()), 5)
	r.wantAnswer("/memories tea", "Ada likes tea.")
}

func TestStop(t *testing.T) {
	r := newRig(t, alwaysSay("word "+strings.Repeat("word ", 1000)))
	r.model.Delay = 5 * time.Millisecond
	r.wantAnswer("/stop", "There is nothing to stop.")
	r.say("tell me everything", true)
	r.connector.until(t, "some words", func() bool { return len(r.connector.shown) > 2 })
	r.wantAnswer("/stop", "Stopped.")
	r.waitForReplies()
	stored := r.transcript()
	check.Len(t, "rows", stored, 2)
	check.That(t, strings.HasPrefix(stored[1], "assistant: word word") && len(stored[1]) < 4000,
		"got stored %d characters of the answer", len(stored[1]))
	r.model.Func, r.model.Delay = echo, 0
	check.HasPrefix(t, "reply after /stop", r.ask("and now?"), "answer")
}

func TestIdleConversationIsEvictedAndReloaded(t *testing.T) {
	r := newRig(t, echo)
	r.opts.Idle = time.Millisecond
	r.reopen()
	for i := range 12 {
		r.ask(fmt.Sprint("m", i))
		time.Sleep(time.Duration(i%4) * time.Millisecond)
	}
	check.Len(t, "rows", r.transcript(), 24)
	inBubble(t, echo, func(t *testing.T, r *rig) { // not while its worker runs
		r.opts.Idle = time.Second
		r.withWorker(after(time.Minute, summarizeRequest))
		r.sendNotes(10)
		r.run("/compact")
		time.Sleep(2 * time.Minute)
		r.stop()
		check.Len(t, "applied summaries", r.eventsIn(compactor.EventApplied), 1)
	})
}

func TestCommands(t *testing.T) {
	r := newRig(t, echo)
	for _, line := range []string{"/etc/passwd", "hello", "/", "/compactify"} {
		_, handled, err := r.hub.Run(t.Context(), place, channel.Person{}, line)
		check.That(t, !handled && err == nil, "%q: got a command (%v), want text", line, err)
	}
	for line, want := range map[string]string{
		"/help":      "/compact [focus]",
		"/context":   "of 128000 tokens",
		"/compact":   "No compaction was started",
		"/memories":  "No memories from this conversation yet",
		"/remember":  "Say what to remember",
		"/forget":    "by its number",
		"/forget 99": "No memory 99 is from this conversation",
		"/HELP":      "/help",
		"/undo 3":    "/undo takes no argument. Write it alone.",
	} {
		r.wantAnswer(line, want)
	}
	got := channel.Answer{Text: "a ``` b", Aligned: true}.Fenced().String()
	check.Equal(t, "code marks: aligned text cannot close its block", strings.Count(got, "```"), 2)
}

func TestImport(t *testing.T) {
	r := newRig(t, echo).withWindow(4000)
	past := func(n int) func(func(channel.Inbound, error) bool) {
		return func(yield func(channel.Inbound, error) bool) {
			for i, more := 0, true; i < n && more; i++ {
				text := fmt.Sprintf("Ada visited town %d. %s", i, strings.Repeat("word ", 20+i%25/24*2000))
				more = yield(channel.Inbound{ID: fmt.Sprint("old", i), Author: "Ada", Time: time.Unix(int64(i*60), 0), Text: text}, nil)
			}
		}
	}
	done := 0
	check.Equal(t, "imported messages", check.Must(r.hub.Import(t.Context(), place, past(100), func(d int) { done = d }))(t), 100)
	check.Equal(t, "progress", done, 100)
	for _, e := range r.connector.events {
		check.That(t, e.Trigger != compactor.OnEmergency && e.BeforeTokens <= e.Window, "an emergency while importing: %+v", e)
	}
	applied := len(r.eventsIn(compactor.EventApplied))
	check.That(t, applied >= 3, "got %d applied compactions", applied)
	check.Equal(t, "messages imported by the second import", check.Must(r.hub.Import(t.Context(), place, past(110), func(int) {}))(t), 10)
	check.Len(t, "model calls", r.model.Requests(), 0)
	r.ask("hello")
	check.Error(t, check.ErrorOf(r.hub.Import(t.Context(), place, past(120), func(int) {})), store.ErrLive)
}

// FuzzCommand sends any line, as a person or a manager: it is no command, or its answer is text for people.
func FuzzCommand(f *testing.F) {
	args := []string{"", "-1 2 3", "#9223372036854775808", "me everywhere", "compaction.keep_last_n 7", "pin 1", "kind:x page:0"}
	for i, c := range channel.Commands {
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
		answer, handled, err := r.hub.Run(t.Context(), place, channel.Person{ID: "u6", Name: typed, Manager: manager}, line)
		check.Require(t, err == nil, "%q: %v", line, err)
		check.Require(t, handled == channel.IsCommand(line) && (!handled || answer.String() != "" || answer.Then != nil),
			"%q: handled %v, %+v", line, handled, answer)
		for page := range answer.Pages() {
			_ = answer.Page(page)
		}
		_, err = r.hub.Suggest(t.Context(), place, channel.Person{ID: "u5"}, line, typed)
		check.Require(t, err == nil, "suggestions for %q: %v", line, err)
	})
}
