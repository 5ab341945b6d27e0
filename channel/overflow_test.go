package channel_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/compactor"
	"cairn/internal/observe"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/memory"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// wantPairedCalls fails unless each result follows its call, and each call has one.
func wantPairedCalls(t *testing.T, messages []llm.Message) {
	t.Helper()
	open := make(map[string]bool)
	for _, m := range messages {
		if m.Role == llm.RoleTool {
			check.That(t, open[m.CallID], "got a result of %q without a call", m.CallID)
			delete(open, m.CallID)
			continue
		}
		check.That(t, len(open) == 0, "calls without results: %v", open)
		for _, call := range m.Calls {
			open[call.ID] = true
		}
	}
	last := messages[len(messages)-1].Role
	check.That(t, len(open) == 0 && (last == llm.RoleUser || last == llm.RoleTool), "got last message %s and open calls %v", last, open)
}

// The end of an answer may reach a level: it is sent once, the turn is over, and no summary is posted.
func TestReplyThatReachesLevelIsSentOnce(t *testing.T) {
	r := newRig(t, nil).withWindow(8000)
	r.setFilePolicy(func(p *compactor.Policy) { p.PrepareThreshold = 0 })
	r.withWorker(numberedSummaries)
	r.model.Func = func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		return llmtest.Say("the long answer " + strings.Repeat("word ", n/12*4000)), nil
	}
	for i := range 12 {
		r.ask(fmt.Sprintf("question %d %s", i, strings.Repeat("word ", 300)))
		check.Require(t, i >= 11 || len(r.connector.events) == 0, "a level is reached by question %d", i)
	}
	check.NoError(t, r.hub.Drain(t.Context()))
	r.waitForReplies()
	check.Require(t, len(r.eventsIn(compactor.EventApplied)) > 0, "got no summary: the test proves nothing")
	check.Len(t, "requests for 12 questions", r.model.Requests(), 12)
	sent := texts(r.connector.texts())
	check.Equal(t, "copies of the long reply", strings.Count(sent, "the long answer word"), 1)
	check.Lacks(t, "sent", sent, "word by word of message")
	// An answer about an overflow is none.
	const words = "error 400: This model's maximum context length is 10 tokens. prompt is too long: 9999 tokens > 10 maximum"
	r = newRig(t, alwaysSay(words))
	r.ask(words)
	check.Equal(t, "requests", len(r.model.Requests()), 1)
	check.EqualAll(t, "sent", r.connector.texts(), []string{words})
	r.wantAnswer("/context", "of 128000 tokens")
}

// After an overflow between two steps the request is repeated, and no tool runs twice; an earlier one does not count.
func TestOverflowDuringTurnRunsNoToolTwice(t *testing.T) {
	const before = 30
	var w stepLog
	r := newRig(t, nil)
	r.opts.Observers = []observe.Observer{&w}
	r.reopen()
	likes := []string{"Ada likes tea.", "Ada likes cake."}
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		wantPairedCalls(t, req.Messages)
		step := (n - before + 1) / 2
		second := (n-before)%2 == 0
		switch {
		case n <= before:
			return echo(ctx, n, req)
		case !second:
			return llm.Response{}, &llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "too long"}
		case step > 2:
			return llmtest.Say("Noted."), nil
		}
		return llmtest.Use(llmtest.Call(fmt.Sprint("c", step), "memory_save", map[string]any{"content": likes[step-1], "kind": "preference"})), nil
	}
	r.askTurns(before, 400)
	check.Equal(t, "answer", r.ask("I like tea and cake"), "Noted.")
	lines := strings.Split(w.String(), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { // the prepared summary, or the one that makes room now
		return strings.HasPrefix(line, "context.compaction in turn of test:server/general: trigger=")
	})
	check.That(t, at >= 0 && slices.Contains(lines[at:], "turn answered"), "got steps %q", lines)
	check.EqualAll(t, "memories saved by the tool", r.connector.memories, likes)
	check.Equal(t, "copies of the question in the transcript", strings.Count(texts(r.transcript()), "user: I like tea and cake"), 1)
}

// A turn that was stopped during an open call is summarized like any other.
func TestStoppedTurnLeavesValidPrompt(t *testing.T) {
	r := newRig(t, nil)
	r.withWorker(numberedSummaries)
	waits := make(chan struct{})
	calls := llmtest.Use(llmtest.Call("a", "recall", map[string]any{"query": "tea"}),
		llmtest.Call("b", "recall", map[string]any{"query": "milk"}))
	calls.Message.Text = "Let me look."
	r.model.Func = then(calls, while(func(int) { close(waits) }, blockUntilCanceled))
	r.say("what do I like?", true)
	<-waits
	r.wantAnswer("/stop", "Stopped.")
	r.waitForReplies()
	r.model.Func = echo
	r.askTurns(12, 30)
	r.compact()
	r.ask("and now?")
	r.restart()
	check.HasPrefix(t, "answer", r.ask("and after a restart?"), "answer ")
	for _, req := range r.model.Requests() {
		wantPairedCalls(t, req.Messages)
	}
}

func tokensOf(req llm.Request) int { return tokens.Estimate(textOf(req)) }

// Many people write a lot at once. Nothing is lost or taken twice, each person's order is kept, the answers are few, and
// no channel waits for one whose model never answers.
func TestFlood(t *testing.T) {
	const people, each, perMinute, window = 8, 8, 2, 8000
	places := []string{"test:server/stuck", "test:server/a", "test:server/b"}
	stuck := make(chan struct{})
	r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		check.That(t, tokensOf(req) <= window, "got a request of %d tokens, want at most %d", tokensOf(req), window)
		if strings.Contains(lastText(req), places[0]) {
			return waitingFor(stuck, echo)(ctx, n, req)
		}
		return echo(ctx, n, req)
	}).withRules(access.Rules{TurnsPerMinute: perMinute})
	r.model.Tokens = window
	started := time.Now()
	var all sync.WaitGroup
	for i := range people * len(places) {
		all.Go(func() {
			who := i / len(places)
			where := places[i%len(places)]
			for n := range each {
				text := fmt.Sprintf("%d says %d in %s, and a few more words so that it weighs something", who, n, where)
				m := by(fmt.Sprint("p", i), fmt.Sprint("Pat", i), pastMessage(fmt.Sprintf("%d-%d", who, n), text, 0, true))
				for range 1 + n%2 { // the platform delivers messages again
					check.Error(t, check.ErrorOf(r.hub.Deliver(t.Context(), where, m)), nil)
				}
			}
		})
	}
	all.Wait()
	r.waitIdle(places[1])
	r.waitIdle(places[2])
	close(stuck)
	r.waitIdle(places[0])
	for _, where := range places {
		next := make([]int, people)
		for _, m := range r.messagesIn(where) {
			var who, n int
			if found, _ := fmt.Sscanf(m.Text, "%d says %d in "+where, &who, &n); found == 2 && m.Role == llm.RoleUser {
				check.Require(t, n == next[who], "message %d of %d: got %q", next[who], who, m.Text)
				next[who]++
			}
		}
		check.EqualAll(t, "messages of each in "+where, next, slices.Repeat([]int{each}, people))
	}
	minutes := int(time.Since(started)/time.Minute) + 1
	writers := people * len(places)
	answers := len(r.model.Requests())
	sent := len(r.connector.texts())
	check.That(t, answers > 0 && answers <= writers*perMinute*minutes, "got %d replies in %d minutes", answers, minutes)
	check.That(t, sent <= answers+writers*minutes, "got %d replies and notices", sent) // one notice per person and minute
}

// Messages far larger than the window are stored whole, shown clipped, found and deleted, and the conversation goes on.
func TestHugeMessages(t *testing.T) {
	for what, text := range map[string]string{
		"60 kB of words":    strings.Repeat("a few words that everybody knows, ", 1_800),
		"50 kB of one word": strings.Repeat("a", 50_000),
		"forgeries":         strings.Repeat("[#1 x] <|im_start|>\n", 500),
		"20 kB of Chinese":  strings.Repeat("汉字无空格", 1_300),
	} {
		r := newRig(t, echo)
		r.model.Tokens = 2200
		r.agent.Recall = 400
		m := r.inbound("parrot "+text, true)
		r.post(m)
		said := r.transcript()
		check.That(t, len(said) == 2 && said[0] == "user: "+m.Text && said[1] == "assistant: answer 1", "%s: %d messages, the last is %.80q", what, len(said), said[len(said)-1])
		used := tokensOf(r.model.Requests()[0])
		check.That(t, used <= r.model.Tokens, "%s: got a request of %d tokens", what, used)
		found := func() int {
			return len(check.Must(memory.Of(storetest.Find(t, r.store, place)).Recall(t.Context(), memory.Question{Text: "parrot", Limit: 3}))(t))
		}
		check.That(t, found() > 0, "%s: the message is not found", what)
		check.Equal(t, what+": next answer", r.ask("and now?"), "answer 2")
		check.NoError(t, r.hub.Delete(t.Context(), place, m.ID))
		check.Equal(t, what+": results after the deletion", found(), 0)
	}
}

func TestPictures(t *testing.T) {
	picture := []byte("\x89PNG\r\n\x1a\n and so on")
	for claim, c := range map[string]struct {
		refusal *llm.Error
		refuses func(n, pictures int) bool
		sent    string
		shown   []int // pictures per request; the bot restarts before the last one
	}{
		"two are shown, also after a restart": {nil, nil, "answer 1 | answer 2 | answer 3", []int{1, 2, 2}},
		"a model without vision gets a description, and is not shown another": {
			&llm.Error{Kind: llm.KindBadRequest, Message: "No endpoints found that support image input", Status: 404},
			func(_, pictures int) bool { return pictures > 0 }, "answer 2 | answer 3 | answer 5",
			[]int{1, 0, 0, 2, 0},
		},
		"a bad one does not affect the next": {
			&llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "Could not process image"},
			func(n, _ int) bool { return n == 1 }, "answer 2 | answer 3 | answer 4",
			[]int{1, 0, 1, 2},
		},
	} {
		var shown []int
		r := newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			var all []llm.Image
			for _, m := range req.Messages {
				all = append(all, m.Images...)
			}
			shown = append(shown, len(all))
			for _, p := range all {
				check.That(t, p.Type == "image/png" && bytes.HasPrefix(p.Data, picture), "%s: got %+v", claim, p)
			}
			if c.refuses != nil && c.refuses(n, len(all)) {
				return llm.Response{}, c.refusal
			}
			return echo(ctx, n, req)
		})
		r.throughConnector(&platform{complete: func(m channel.Inbound) (channel.Inbound, error) {
			m.Attachments = []channel.Attachment{{Kind: "image", Name: m.ID + ".png", Type: "image/png", Data: slices.Concat(picture, []byte(m.ID))}}
			return m, nil
		}})
		r.post(lacking("1", 0, true))
		r.post(lacking("2", 0, true))
		r.restart()
		r.ask("and now?")
		check.Equal(t, claim+": sent", texts(r.connector.texts()), c.sent)
		check.EqualAll(t, claim+": pictures", shown, c.shown)
	}
}

func TestOverflowTeachesWindowAndFactor(t *testing.T) {
	const window, size = 12_000, 2 // real tokens per estimated token
	r := newRig(t, nil)
	var page llm.Learned
	overflows := 0
	r.model.Func = func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		real := req.MaxTokens + len(textOf(req))/5*size
		if real <= window {
			return llmtest.Say(fmt.Sprint("answer ", n)), nil
		}
		overflows++
		page.Limit(window)
		r.model.Tokens = window
		return llm.Response{}, &llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "too long", Limit: window, Prompt: real - req.MaxTokens}
	}
	r.agent.Model = learningModel{r.model, &page}
	for i := range 40 {
		r.ask(fmt.Sprintf("question %d %s", i, strings.Repeat("word ", 200)))
		check.Require(t, !r.connector.sent[i].Failure, "got notice %q", r.connector.sent[i].Text)
	}
	f := page.Facts()
	check.That(t, f.Window == window && f.Factor >= 1.2, "got learned facts %+v", f)
	check.That(t, overflows != 0 && overflows <= 8, "got %d overflows in 40 turns", overflows)
}

func TestSilentOverflowCompacts(t *testing.T) {
	silent := always(withBilledTokens(llm.Response{}, llm.Usage{Prompt: 6000, Completion: 3}))
	r := newRig(t, inSteps(append(slices.Repeat([]script{echo}, 10), silent, echo)...))
	r.model.Tokens = 6000
	r.askTurns(11, 100)
	reqs := r.model.Requests()
	check.Len(t, "requests", reqs, 12)
	check.That(t, len(reqs[11].Messages) < len(reqs[10].Messages), "the request was repeated as it was")
	check.Len(t, "sent", r.connector.texts(), 11)
	check.Equal(t, "last piece sent", r.lastText(), "answer 12")
	check.Equal(t, "copies of the question in the transcript", strings.Count(texts(r.transcript()), "user: message-10 "), 1)
}
