package channel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
	"cairn/store"
)

func (r *rig) lastRequestText() string {
	r.t.Helper()
	all := r.model.Requests()
	check.Require(r.t, len(all) != 0, "the model was not asked")
	return textOf(all[len(all)-1])
}

func textOf(req llm.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Text)
	}
	return b.String()
}

func TestNew(t *testing.T) {
	r := newRig(t, echo)
	r.wantAnswer("/new", "already new")
	r.ask("my parrot is called Coco")
	r.wantAnswer("/new", "A new session. ")
	r.waitForReplies()
	check.NoError(t, r.hub.Drain(t.Context()))
	shown := r.wantAnswer("/context", "last      leaf by extractive, messages #1 to #2\n")
	check.Lacks(t, "/context", shown, "→", "emergency")
	r.wantAnswer("/new", "already new")
	r.model.Func = inSteps(nil, always(useTool("recall", map[string]any{"query": "parrot"})), repeatLast)
	check.Contains(t, "recall", r.ask("what is its name?"), "Coco")
	asked := r.model.Requests()[1]
	check.Lacks(t, "prompt", textOf(asked), "] my parrot is called Coco")
	check.That(t, !slices.ContainsFunc(asked.Messages, func(m llm.Message) bool { return m.Text == "answer 1" }), "got an earlier answer in the prompt")
	check.Equal(t, "the transcript", r.transcript()[0], "user: my parrot is called Coco")
	r.wantAnswer("/context", "earlier   sessions before the last /new: 1; rows shown: 1 of 1", "#1 to #2")
	past := check.Must(channel.ReadContext(t.Context(), storetest.Find(t, r.store, place), r.agent))(t).Past
	check.Contains(t, "JSON", string(check.Must(json.Marshal(past))(t)), `"sessions":1`)
	check.That(t, len(past.Earlier) == 1 && past.Earlier[0].Session == 1 && !past.Earlier[0].Hidden, "got %+v", past)
}

func TestNewDuringATurn(t *testing.T) {
	for _, crash := range []bool{false, true} {
		release := make(chan struct{})
		answer := func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
			text := lastText(req) // which ends with what a person wrote, and the turn context
			word, _, _ := strings.Cut(text[strings.LastIndex(text, "] ")+2:], "\n")
			return llmtest.Say("answer to " + word), nil
		}
		r := newRig(t, inSteps(waitingFor(release, answer), answer))
		r.say("first", true)
		check.Require(t, check.Soon(func() bool { return len(r.model.Requests()) == 1 }), "no turn has started")
		r.say("second", true)
		r.wantAnswer("/new", "A new session starts once the earlier messages are answered")
		r.say("third", true)
		if crash {
			r.restart()
		} else {
			close(release)
		}
		r.waitForReplies()
		check.Equal(t, fmt.Sprint("the transcript, with a crash ", crash), texts(r.transcript()),
			"user: first | assistant: answer to first | user: second | assistant: answer to second | user: third | assistant: answer to third")
		requests := r.model.Requests()
		last, before := textOf(requests[len(requests)-1]), textOf(requests[len(requests)-2])
		check.Contains(t, "second request", before, "first", "second")
		check.Lacks(t, "second request", before, "third")
		check.Lacks(t, "third request", last, "] first", "] second")
		r.wantAnswer("/context", "#1 to #4")
	}
}

const branch = place + "/m1" // a thread on the first message

func withOldSession(t *testing.T) *rig {
	r := newRig(t, echo)
	r.withWorker(always(summary("Coco is a parrot, word by word.")))
	for i := range 8 {
		r.ask(fmt.Sprintf("message-%d of the parrot %s", i+1, strings.Repeat("word ", 30)))
	}
	r.compact()
	return r
}

func (r *rig) inThread(text string) {
	r.t.Helper()
	r.tell(branch, text, func(m *channel.Inbound) { m.Addressed, m.Thread = true, true })
}

func TestThreadInheritsChannelHistory(t *testing.T) {
	r := withOldSession(t)
	r.tell(branch, "and how old is it?", func(m *channel.Inbound) {
		m.Addressed, m.Thread, m.ReplyTo, m.Quote = true, true, "m1", `Ada: "message-1 of the…"`
	})
	asked := r.lastRequestText()
	check.Contains(t, "prompt of the thread", asked, "[Compaction Summary] of the channel above this thread", "Coco is a parrot, word by word.",
		"[System: this thread hangs on a message of ", "message-1 of the parrot")
	check.Lacks(t, "prompt of the thread", asked, "message-8")
	r.ask("the parrot has flown")
	check.Lacks(t, "prompt of the channel", r.lastRequestText(), "how old")
	r.tell("test:server/other/9", "hello", func(m *channel.Inbound) { m.Addressed, m.Thread = true, true })
	check.Lacks(t, "prompt of another channel's thread", r.lastRequestText(), "Coco")
	check.Contains(t, "answer to /context", r.runAs(channel.Person{ID: "u1"}, branch, "/context").String(), "summaries the thread began with: 1")

	kept := func(asked string) string {
		return asked[strings.Index(asked, "<kept>"):strings.Index(asked, "</kept>")]
	}
	r.restart()
	r.inThread("and now?")
	check.Equal(t, "head after a restart", kept(r.lastRequestText()), kept(asked))

	check.NoError(t, r.hub.Delete(t.Context(), place, "m1"))
	r.inThread("once more?")
	again := r.lastRequestText()
	check.Lacks(t, "prompt after a deletion in the channel", again, "message-1 of", "hangs on", "Coco")
	check.Contains(t, "prompt after a deletion in the channel", again, "of the channel above this thread", "how old")

	r.runAs(channel.Person{ID: "u1", Manager: true}, branch, "/new")
	r.inThread("anew")
	asked = r.lastRequestText()
	check.Lacks(t, "prompt after /new in the thread", asked, "] and how old")
	inherited, began := strings.Index(asked, "of the channel above"), strings.Index(asked, "began anew")
	check.That(t, inherited >= 0 && inherited < began, "the inherited summaries do not stand before the new session:\n%s", asked)
}

func TestDeletedMemoryLeavesPrompt(t *testing.T) {
	const fact = "Ophelia is allergic to honey"
	for _, when := range []string{"during a turn", "between turns", "by another process, also from what a search found"} {
		r := newRig(t, nil)
		r.agent.Recall = 600
		r.run("/remember " + fact)
		remove := func(now bool) {
			if now {
				check.Error(t, memory.In(r.store).Forget(t.Context(), 1), nil)
			}
		}
		r.model.Func = while(func(n int) { remove(n == 1 && when == "during a turn") }, echo)
		if when[:2] == "by" {
			r.model.Func = inTurn(useTool("memory_search", map[string]any{"query": "honey"}), llmtest.Say("ok"))
		}
		r.ask("What does Ophelia keep?")
		check.Contains(t, when+": prompt", r.lastRequestText(), fact)
		remove(when == "between turns")
		if when[:2] == "by" {
			other := check.Must(store.Open(t.Context(), store.Options{Dir: r.dir, Shared: true}))(t)
			defer other.Close()
			check.NoError(t, memory.In(other).Purge(t.Context(), 1))
		}
		r.ask("and what else is there to tell")
		check.Lacks(t, when+": next prompt", r.lastRequestText(), fact)
	}
}

func TestEachRequestExtendsPrevious(t *testing.T) {
	var requests []string
	var says []llm.Response
	r := newRig(t, func(_ context.Context, _ int, req llm.Request) (answer llm.Response, err error) {
		text := ""
		for _, m := range req.Messages {
			text += fmt.Sprintf("\n%s %s %v %s", m.Role, m.CallID, m.Calls, m.Text)
		}
		requests = append(requests, text)
		answer, says = says[0], says[1:]
		return answer, nil
	})
	r.agent.Recall = 600
	r.withCritic(echo)
	r.run("/remember Ophelia is allergic to honey")
	turn := func(text string, optional bool, answers ...llm.Response) {
		t.Helper()
		says = answers
		r.tell(place, text, func(m *channel.Inbound) { m.Addressed, m.Optional = true, optional })
		check.That(t, len(says) == 0, "got an unexpected reply to %q", text)
	}
	turn("hello", false, llmtest.Say("hi"))
	turn("what is Ophelia allergic to?", false, useTool("recall", map[string]any{"query": "Ophelia"}), llmtest.Say("to honey"))
	turn("it rains", true, llmtest.Say("NO_REPLY"))
	r.say("nobody is asked this", false)
	turn("@critic, is it true?", false) // it has no turn context
	turn("is Ophelia fine?", false, llmtest.Say("yes"))
	r.restart()
	turn("good", false, llmtest.Say("so it is"))
	turn("and Ophelia?", false, llmtest.Say("she is too"))
	check.Len(t, "requests", requests, 7)
	for i := range 6 {
		check.HasPrefix(t, fmt.Sprintf("request %d", i+1), requests[i+1], requests[i])
	}
	check.Equal(t, "copies of the memory in the last request", strings.Count(requests[6], "Ophelia is allergic to honey"), 1)
	check.Equal(t, "turn contexts in the last request", strings.Count(requests[6], "\ntime: "), 6)
}

func TestTurnContextWithoutRecallIsSmall(t *testing.T) {
	for _, optional := range []bool{false, true} {
		r := newRig(t, echo)
		r.tell(place, "hello", func(m *channel.Inbound) { m.Addressed, m.Optional = true, optional })
		_, block, _ := strings.Cut(lastText(r.model.Requests()[0]), "\n\n")
		check.HasPrefix(t, "turn context", block, "<now>")
		check.That(t, tokens.Estimate(block) <= 60, "%d tokens: %s", tokens.Estimate(block), block)
		check.Equal(t, "an answer is optional", strings.Contains(block, "NO_REPLY"), optional)
	}
}
