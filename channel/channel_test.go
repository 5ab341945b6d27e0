package channel_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
)

func TestAMessageIsAnsweredOnce(t *testing.T) {
	r := newRig(t, echo)
	r.say("hello", true)
	r.idle()
	equal(t, "sent", r.connector.texts(), []string{"answer 1"})
	equal(t, "transcript", r.transcript(), []string{"user: hello", "assistant: answer 1"})
	equal(t, "accepted", r.connector.accepted, []string{"m1=1"})
	if to := r.connector.sent[0].To; len(to) != 1 || to[0] != "m1" || r.connector.sent[0].Reply == "" {
		t.Errorf("the reply is %+v", r.connector.sent[0])
	}
}

func TestWhatIsOverheardIsContextAndNotAnswered(t *testing.T) {
	r := newRig(t, echo)
	r.say("the door code is 4711", false)
	r.idle()
	if len(r.model.Requests()) != 0 {
		t.Fatal("the model was asked about what nobody addressed to it")
	}
	r.say("what is the code?", true)
	r.idle()
	last := r.model.Requests()[0].Messages
	contains(t, "the model did not see what was overheard", last[len(last)-1].Text, "4711")
}

func TestABurstIsAnsweredTogether(t *testing.T) {
	release := make(chan struct{})
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 {
			<-release
		}
		return echo(ctx, n, req)
	})
	r.say("one", true)
	r.connector.until(t, "the first turn", func() bool { return len(r.connector.accepted) >= 1 })
	for i := range 5 {
		r.say(fmt.Sprint("more ", i), i != 2)
	}
	close(release)
	r.idle()
	equal(t, "accepted", r.connector.accepted, []string{"m1=1", "m2=3", "m3=4", "m4=5", "m5=6", "m6=7"})
	equal(t, "sent", r.connector.texts(), []string{"answer 1", "answer 2"})
	equal(t, "transcript", r.transcript(), []string{
		"user: one", "assistant: answer 1", "user: more 0", "user: more 1", "user: more 2", "user: more 3", "user: more 4", "assistant: answer 2",
	})
	equal(t, "answered", r.connector.sent[1].To, []string{"m2", "m3", "m5", "m6"})
}

func TestAMessageBehindALongTurnIsAcceptedBeforeItHasItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			time.Sleep(5 * time.Second)
			return echo(ctx, n, req)
		})
		r.say("one", true)
		synctest.Wait()
		r.say("two", true)
		time.Sleep(2 * time.Second)
		r.connector.mu.Lock()
		equal(t, "accepted after two seconds", r.connector.accepted, []string{"m1=1", "m2=0"})
		r.connector.mu.Unlock()
		r.idle()
		r.stop()
		equal(t, "accepted in the end", r.connector.accepted, []string{"m1=1", "m2=0", "m2=3"})
	})
}

func TestTheSameIdIsNotTakenTwice(t *testing.T) {
	r := newRig(t, echo)
	m := r.inbound("hello", true)
	for range 3 {
		must(r.hub.Deliver(t.Context(), place, m))(t)
		r.idle()
	}
	m2 := m
	m2.ID = "other"
	must(r.hub.Deliver(t.Context(), place, m2))(t)
	r.idle()
	equal(t, "transcript", r.transcript(), []string{"user: hello", "assistant: answer 1", "user: hello", "assistant: answer 2"})
}

func TestTheFirstPieceIsShownBeforeTheLastIsSent(t *testing.T) {
	r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) {
		return llmtest.Say("first and then a long long tail"), nil
	})
	r.model.Delay = 20 * time.Millisecond
	r.say("hello", true)
	r.connector.until(t, "the first piece", func() bool { return len(r.connector.shown) > 0 && len(r.connector.sent) == 0 })
	r.idle()
	expect(t, "the first piece", r.connector.shown[0], "first")
	equal(t, "sent", r.connector.texts(), []string{"first and then a long long tail"})
}

func TestDeliverNeverWaitsForATurn(t *testing.T) {
	release := make(chan struct{})
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		<-release
		return echo(ctx, n, req)
	})
	r.say("one", true)
	r.connector.until(t, "the first turn", func() bool { return len(r.connector.accepted) >= 1 })
	for i := range 200 { // a Deliver that blocks would hang here
		r.say(fmt.Sprint("more ", i), false)
	}
	close(release)
	r.idle()
	expect(t, "messages are stored", len(r.transcript()), 202)
}

func TestTools(t *testing.T) {
	r := newRig(t, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		switch n {
		case 1:
			resp := llmtest.Use(llmtest.Call("call_0", "memory_save", map[string]any{"content": "Ada likes tea.", "kind": "preference"}),
				llmtest.Call("call_1", "no_such_tool", map[string]any{}))
			resp.Message.Text = "Let me note that."
			return resp, nil
		case 2:
			last := req.Messages[len(req.Messages)-1]
			if last.CallID != "call_1" || !strings.HasPrefix(last.Text, "Error: there is no tool") {
				t.Errorf("the answer to an unknown tool is %+v", last)
			}
			return llmtest.Say("Noted."), nil
		}
		return echo(t.Context(), n, req)
	})
	r.say("I like tea", true)
	r.idle()
	equal(t, "sent", r.connector.texts(), []string{"Let me note that.\n\nNoted."})
	equal(t, "memories", r.connector.memories, []string{"Ada likes tea."})
	expect(t, "rows are stored", len(r.transcript()), 5)
	contains(t, "/memories says", r.run("/memories tea"), "Ada likes tea.")
}

func TestStop(t *testing.T) {
	r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) {
		return llmtest.Say("word " + strings.Repeat("word ", 1000)), nil
	})
	r.model.Delay = 5 * time.Millisecond
	expect(t, "without a turn /stop says", r.run("/stop"), "There is nothing to stop.")
	r.say("tell me everything", true)
	r.connector.until(t, "some words", func() bool { return len(r.connector.shown) > 2 })
	expect(t, "/stop says", r.run("/stop"), "Stopped.")
	r.idle()
	stored := r.transcript()
	if len(stored) != 2 || !strings.HasPrefix(stored[1], "assistant: word word") || len(stored[1]) > 4000 {
		t.Errorf("what people saw of a stopped answer is not what is stored: %d rows", len(stored))
	}
	r.model.Func, r.model.Delay = echo, 0
	r.say("and now?", true)
	r.idle()
	if texts := r.connector.texts(); !strings.HasPrefix(texts[len(texts)-1], "answer") {
		t.Error("after /stop the conversation does not go on")
	}
}

func TestAProvidersFailureIsReportedInOneSentence(t *testing.T) {
	for name, tt := range map[string]struct {
		err   error
		calls int
		says  string
	}{
		"a refusal":      {&llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "secret internals"}, 1, "refused"},
		"a wrong key":    {&llm.Error{Kind: llm.KindAuth, Status: 401, Message: "secret internals", Where: llm.Where{Key: "OPENAI_API_KEY"}}, 1, "OPENAI_API_KEY"},
		"an outage":      {&llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "secret internals"}, 2, "overloaded"},
		"something else": {errors.New("secret internals"), 1, "went wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) { return llm.Response{}, tt.err })
			r.say("hello", true)
			r.idle()
			expect(t, "calls", len(r.model.Requests()), tt.calls)
			if len(r.connector.sent) != 1 || !r.connector.sent[0].Failure || !strings.Contains(r.connector.sent[0].Text, tt.says) || strings.Contains(r.connector.sent[0].Text, "secret") {
				t.Errorf("sent %+v", r.connector.sent)
			}
			equal(t, "transcript", r.transcript(), []string{"user: hello"})
			r.restart()
			r.idle()
			expect(t, "a closed turn is answered again after a restart", len(r.connector.sent), 1)
		})
	}
}

func TestAPanicInAToolOrModelEndsOnlyTheTurn(t *testing.T) {
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 {
			panic("the model breaks")
		}
		return echo(ctx, n, req)
	})
	r.say("hello", true)
	r.idle()
	r.say("again", true)
	r.idle()
	texts := r.connector.texts()
	if len(texts) != 2 || texts[1] != "answer 2" {
		t.Errorf("sent %q", texts)
	}
}

func TestAnOverflowMakesRoomAndAsksAgain(t *testing.T) {
	r := newRig(t, nil)
	overflow := true
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n > 30 && overflow {
			overflow = false
			return llm.Response{}, &llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "too long"}
		}
		return echo(ctx, n, req)
	}
	for i := range 31 {
		r.say(fmt.Sprintf("question %d %s", i, strings.Repeat("word ", 200)), true)
		r.idle()
	}
	if n := len(r.model.Requests()); n != 32 {
		t.Fatalf("%d requests, want one more than questions", n)
	}
	reqs := r.model.Requests()
	before, after := reqs[30].Messages, reqs[31].Messages
	if len(after) >= len(before) || after[len(after)-1].Text[:20] != before[len(before)-1].Text[:20] {
		t.Errorf("the second request has %d messages, the first had %d", len(after), len(before))
	}
	if sent := r.connector.sent[len(r.connector.sent)-1]; sent.Failure {
		t.Errorf("the person was told %q", sent.Text)
	}
	expect(t, "rows are stored", len(r.transcript()), 62)
}

func TestAModelWithoutToolsAnswersWithoutThem(t *testing.T) {
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) > 0 {
			return llm.Response{}, &llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "tiny does not support tools"}
		}
		return echo(ctx, n, req)
	})
	for range 2 {
		r.say("hello", true)
		r.idle()
	}
	equal(t, "sent", r.connector.texts(), []string{"answer 2", "answer 3"})
}

func TestAnOverflowThatDoesNotEndIsReportedInWords(t *testing.T) {
	r := newRig(t, func(context.Context, int, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "too long"}
	})
	r.say("hello", true)
	r.idle()
	if n := len(r.model.Requests()); n > 3 {
		t.Errorf("%d requests, at most 3 are right", n)
	}
	if len(r.connector.sent) != 1 || !strings.Contains(r.connector.sent[0].Text, "/compact") {
		t.Errorf("sent %+v", r.connector.sent)
	}
}

// crash leaves the store as if the process was killed after it took up a message.
func crash(t *testing.T, r *rig) {
	t.Helper()
	conv := must(r.store.Conversation(t.Context(), place))(t)
	m := r.inbound("are you there?", true)
	m.Time = m.Time.Add(-48 * time.Hour) // only the arrival time counts
	must(conv.Inbox().Deliver(t.Context(), m))(t)
	if taken, err := conv.Inbox().TakeUp(t.Context(), memory.All, 1000, time.Time{}); err != nil || len(taken) != 1 {
		t.Fatalf("took up %d, %v", len(taken), err)
	}
}

func TestAnInterruptedTurnIsTakenUpAtStart(t *testing.T) {
	r := newRig(t, echo)
	crash(t, r)
	r.restart()
	r.idle()
	equal(t, "transcript", r.transcript(), []string{"user: are you there?", "assistant: answer 1"})
}

func TestWhatIsTooOldIsLeftAsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, echo)
		crash(t, r)
		conv := must(r.store.Conversation(t.Context(), place))(t)
		must(conv.Inbox().Deliver(t.Context(), r.inbound("anybody?", true)))(t)
		time.Sleep(2 * time.Hour)
		r.restart()
		r.idle()
		equal(t, "transcript", r.transcript(), []string{"user: are you there?", "user: anybody?"})
		r.say("hello", true)
		r.idle()
		equal(t, "sent", r.connector.texts(), []string{"answer 1"})
		r.stop()
	})
}

func TestATurnHasTwoAttempts(t *testing.T) {
	r := newRig(t, echo)
	crash(t, r)
	conv := must(r.store.Conversation(t.Context(), place))(t)
	if _, err := conv.Turns().Retry(t.Context(), 1); err != nil { // the second attempt crashed too
		t.Fatal(err)
	}
	r.restart()
	r.idle()
	if len(r.model.Requests()) != 0 || len(r.connector.sent) != 1 || !r.connector.sent[0].Failure {
		t.Errorf("%d requests; sent %+v", len(r.model.Requests()), r.connector.sent)
	}
}

func TestWhatWaitsInTheInboxIsTakenUpAtStart(t *testing.T) {
	r := newRig(t, echo)
	conv := must(r.store.Conversation(t.Context(), place))(t)
	for range 3 {
		must(conv.Inbox().Deliver(t.Context(), r.inbound("waiting", true)))(t)
	}
	r.restart()
	r.idle()
	equal(t, "transcript", r.transcript(), []string{"user: waiting", "user: waiting", "user: waiting", "assistant: answer 1"})
}

func TestAnUnsentReplyIsSentAtStartUnderTheSameId(t *testing.T) {
	r := newRig(t, echo)
	r.connector.fails = 1_000_000
	r.say("hello", true)
	r.connector.until(t, "a failed send", func() bool { return r.connector.fails < 1_000_000 })
	r.stop()
	r.connector.fails = 0
	r.start()
	noError(t, r.hub.Recover(t.Context(), func(string) bool { return true }))
	r.idle()
	if len(r.connector.sent) != 1 || r.connector.sent[0].Reply != "reply-2" || !r.connector.sent[0].Sending {
		t.Errorf("sent %+v", r.connector.sent)
	}
	r.restart()
	r.idle()
	expect(t, "a reply was sent twice", len(r.connector.sent), 1)
}

func TestAReplyIsNotShownBeforeTheOneAheadOfItWasSent(t *testing.T) {
	r := newRig(t, func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		return llmtest.Say(fmt.Sprintf("answer %d in many words", n)), nil
	})
	r.connector.note(func() { r.connector.slow = 300 * time.Millisecond })
	r.say("one", true)
	r.connector.until(t, "the first reply", func() bool { return len(r.transcript()) == 2 })
	r.say("two", true)
	r.idle()
	equal(t, "sent", r.connector.texts(), []string{"answer 1 in many words", "answer 2 in many words"})
	r.connector.mu.Lock()
	defer r.connector.mu.Unlock()
	for _, shown := range r.connector.shown {
		if strings.Contains(shown, "answer 2") {
			t.Fatalf("%q was shown while the first reply was being sent", shown)
		}
	}
}

func TestASlowConnectorDelaysNoTurn(t *testing.T) {
	r := newRig(t, echo)
	r.connector.slow = 600 * time.Millisecond
	start := time.Now()
	for i := range 5 {
		r.say(fmt.Sprint("m", i), true)
		r.connector.until(t, "the message", func() bool { return r.connector.taken() == i+1 })
	}
	if took := time.Since(start); took > 2500*time.Millisecond {
		t.Errorf("five turns took %v while each send takes 0.6 s", took)
	}
	r.idle()
	expect(t, "replies", len(r.connector.texts()), len(r.model.Requests()))
}

func TestSilenceDoesNotEndARunningWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, echo)
		r.agent.Worker = &llmtest.Model{Func: func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
				return llm.Response{}, ctx.Err()
			}
			return llmtest.Use(llmtest.Call("1", "summarize", map[string]string{"summary": "They talked word by word."})), nil
		}}
		r.stop()
		r.opts.Idle = time.Second
		r.start()
		for i := range 10 {
			r.say(fmt.Sprint("message ", i, strings.Repeat(" word", 60)), false)
		}
		r.idle()
		r.run("/compact")
		time.Sleep(2 * time.Minute)
		r.stop()
		for _, e := range r.connector.events {
			if e.State == compactor.EventFailed {
				t.Errorf("the worker was ended: %s", e.Error)
			}
		}
		if n := len(r.connector.events); n == 0 || r.connector.events[n-1].State != compactor.EventApplied {
			t.Error("nothing applied")
		}
	})
}

func TestEveryWriterIsSentOrCanceled(t *testing.T) {
	r := newRig(t, echo)
	r.connector.fails = 1 // the sender is busy retrying when the next reply is written
	for i := range 5 {
		r.say(fmt.Sprint("message ", i), true)
		r.connector.until(t, "the answer", func() bool { return r.connector.opened > i })
		time.Sleep(200 * time.Millisecond)
	}
	r.idle()
	if r.connector.opened != len(r.connector.sent)+r.connector.canceled {
		t.Errorf("%d writers were opened, %d sent, %d canceled", r.connector.opened, len(r.connector.sent), r.connector.canceled)
	}
}

func TestConversationsDoNotWaitForEachOther(t *testing.T) {
	release := make(chan struct{})
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if strings.Contains(req.Messages[len(req.Messages)-1].Text, "slow") {
			<-release
		}
		return echo(ctx, n, req)
	})
	must(r.hub.Deliver(t.Context(), "test:server/other", r.inbound("slow", true)))(t)
	r.say("quick", true)
	r.idle()
	expect(t, "answers before the slow one", len(r.connector.sent), 1)
	close(release)
	noError(t, r.hub.Drain(t.Context()))
	expect(t, "answers to both", len(r.connector.sent), 2)
}

func TestASilentConversationLeavesMemoryAndComesBack(t *testing.T) {
	r := newRig(t, echo)
	r.stop()
	r.opts.Idle = time.Millisecond
	r.start()
	for i := range 30 {
		r.say(fmt.Sprint("m", i), true)
		r.idle()
		time.Sleep(time.Duration(i%4) * time.Millisecond)
	}
	expect(t, "rows", len(r.transcript()), 60)
}

func TestShutdownLosesNothing(t *testing.T) {
	r := newRig(t, func(ctx context.Context, n int, _ llm.Request) (llm.Response, error) {
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	})
	r.say("hello", true)
	r.connector.until(t, "the turn", func() bool { return r.connector.taken() == 1 })
	r.say("and more", true)
	r.stop()
	r.model.Func = echo
	r.start()
	noError(t, r.hub.Recover(t.Context(), func(string) bool { return true }))
	r.idle()
	got := r.transcript()
	if len(got) != 4 || got[0] != "user: hello" || got[2] != "user: and more" {
		t.Errorf("transcript %q", got)
	}
	if _, err := r.hub.Deliver(t.Context(), "nowhere:general", r.inbound("x", true)); err == nil {
		t.Error("a message for no connector was accepted")
	}
}

func TestAConversationThatCannotGoOnTellsWhoWaitsAndGoesOnLater(t *testing.T) {
	r := newRig(t, echo)
	disk := must(sql.Open("sqlite3", filepath.Join(r.dir, "cairn.db")))(t)
	defer disk.Close()
	must(disk.Exec("ALTER TABLE compactions RENAME TO elsewhere"))(t)
	r.say("hello", true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := r.hub.Idle(ctx, place); err == nil || ctx.Err() != nil {
		t.Fatalf("waiting for a conversation that cannot be opened gave %v", err)
	}
	if _, _, err := r.hub.Run(ctx, place, channel.Person{}, "/context"); err == nil || ctx.Err() != nil {
		t.Fatalf("/context in a conversation that cannot be opened gave %v", err)
	}
	must(disk.Exec("ALTER TABLE elsewhere RENAME TO compactions"))(t)
	r.say("are you back?", true)
	r.idle()
	equal(t, "transcript", r.transcript(), []string{"user: hello", "user: are you back?", "assistant: answer 1"})
}

func TestAnAnswerThatCannotBeWrittenIsHeldBackInWords(t *testing.T) {
	r := newRig(t, nil)
	disk := must(sql.Open("sqlite3", filepath.Join(r.dir, "cairn.db")))(t)
	defer disk.Close()
	rename := func(query string) {
		if _, err := disk.Exec(query); err != nil {
			t.Error(err)
		}
	}
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 { // the outbox breaks while the model writes
			rename("ALTER TABLE outbox RENAME TO elsewhere")
		}
		return echo(ctx, n, req)
	}
	r.say("hello", true)
	r.connector.until(t, "words", func() bool { return len(r.connector.sent) == 1 })
	if p := r.connector.sent[0]; !p.Failure || !strings.Contains(p.Text, "holding it back") {
		t.Errorf("told %+v", p)
	}
	rename("ALTER TABLE elsewhere RENAME TO outbox")
	r.say("and now?", true)
	r.connector.until(t, "the answers", func() bool { return len(r.connector.sent) == 3 })
	r.idle()
	equal(t, "sent", r.connector.texts()[1:], []string{"answer 2", "answer 3"})
	equal(t, "transcript", r.transcript(), []string{"user: hello", "assistant: answer 2", "user: and now?", "assistant: answer 3"})
}

func TestWhatCannotBeWrittenIsNotAccepted(t *testing.T) {
	r := newRig(t, echo)
	r.say("hello", true)
	r.idle()
	if err := r.store.Close(); err != nil { // the disk goes away under a running hub
		t.Fatal(err)
	}
	if _, err := r.hub.Deliver(t.Context(), place, r.inbound("lost?", true)); err == nil {
		t.Error("a message that cannot be written was acknowledged")
	}
	if err := r.hub.Close(); err != nil {
		t.Error(err)
	}
	r.hub = nil
}

func TestCommands(t *testing.T) {
	r := newRig(t, echo)
	for _, line := range []string{"/etc/passwd", "hello", "/", "/compactify"} {
		if _, handled, err := r.hub.Run(t.Context(), place, channel.Person{}, line); handled || err != nil {
			t.Errorf("%q is taken for a command (%v)", line, err)
		}
	}
	for line, want := range map[string]string{
		"/help":              "/compact [focus]",
		"/context":           "of 128000 tokens",
		"/compact":           "No compaction was started",
		"/memories":          "No memories from this conversation yet",
		"/memories x":        `about "x"`,
		"/remember":          "Say what to remember",
		"/forget":            "by its number",
		"/forget 99":         "no memory 99",
		"/HELP":              "/help",
		"/remember I am Ada": "as memory 1",
	} {
		if line == "/remember I am Ada" {
			continue
		}
		if answer := r.run(line); !strings.Contains(answer, want) {
			t.Errorf("%s says %q, want %q in it", line, answer, want)
		}
	}
	r.say("I am Ada", true)
	r.idle()
	contains(t, "/remember says", r.run("/remember the standup is at 9:30"), "memory 1")
	contains(t, "/memories says", r.run("/memories standup"), "9:30")
	contains(t, "/forget says", r.run("/forget 1"), "forgotten")
	if answer := r.run("/memories standup"); strings.Contains(answer, "9:30") {
		t.Error("a forgotten memory is shown")
	}
}

func TestCompactOnDemand(t *testing.T) {
	r := newRig(t, echo)
	r.agent.Worker = &llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		return llmtest.Use(llmtest.Call("1", "summarize", map[string]string{"summary": "They talked word by word."})), nil
	}}
	r.stop()
	r.start()
	for i := range 10 {
		r.say(fmt.Sprintf("message %d %s", i, strings.Repeat("word ", 30)), true)
		r.idle()
	}
	if answer := r.run("/compact the prices"); !strings.Contains(answer, "Summing up") {
		t.Fatalf("/compact says %q", answer)
	}
	r.connector.until(t, "what is applied", func() bool {
		for _, e := range r.connector.events {
			if e.State == compactor.EventApplied {
				return e.Trigger == compactor.OnManual && e.AfterTokens < e.BeforeTokens && e.Summary == "They talked word by word."
			}
		}
		return false
	})
	contains(t, "/context says", r.run("/context"), "stack     1")
	if got := r.connector.texts(); strings.Contains(strings.Join(got, " "), "They talked word by word.") {
		t.Error("a summary was posted")
	}
}

func TestImport(t *testing.T) {
	r := newRig(t, echo)
	r.model.Tokens = 4000
	past := func(n int) func(func(channel.Inbound, error) bool) {
		return func(yield func(channel.Inbound, error) bool) {
			for i := range n {
				size := 20
				if i%50 == 7 {
					size = 2000
				}
				m := channel.Inbound{ID: fmt.Sprint("old", i), Author: "Ada", Time: time.Unix(int64(i*60), 0), Text: fmt.Sprintf("Ada visited town %d. %s", i, strings.Repeat("word ", size))}
				if !yield(m, nil) {
					return
				}
			}
		}
	}
	done := 0
	n, err := r.hub.Import(t.Context(), place, past(300), func(d int) { done = d })
	if err != nil || n != 300 || done != 300 {
		t.Fatalf("imported %d, progress %d, %v", n, done, err)
	}
	applied := 0
	for _, e := range r.connector.events {
		if e.State == compactor.EventApplied {
			applied++
		}
		if e.Trigger == compactor.OnEmergency {
			t.Errorf("an emergency fired while importing: %+v", e)
		}
		if e.BeforeTokens > e.Window {
			t.Errorf("%d of %d tokens were used", e.BeforeTokens, e.Window)
		}
	}
	if applied < 5 {
		t.Errorf("%d applied compactions", applied)
	}
	expect(t, "again imported", must(r.hub.Import(t.Context(), place, past(310), func(int) {}))(t), 10)
	expect(t, "imported messages were answered", len(r.model.Requests()), 0)
	r.say("hello", true)
	r.idle()
	if _, err := r.hub.Import(t.Context(), place, past(400), func(int) {}); !errors.Is(err, memory.ErrLive) {
		t.Errorf("importing into a live conversation: %v", err)
	}
}
