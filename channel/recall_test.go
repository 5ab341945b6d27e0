package channel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// turnContextOf returns the newest turn context of a request.
func turnContextOf(req llm.Request) string {
	text := req.Messages[len(req.Messages)-1].Text
	at := strings.LastIndex(text, "\n<now>\n")
	if at < 0 {
		return ""
	}
	return text[at:]
}

// withRecall returns a conversation in which a fact has left the window; blocks returns the newest
// turn context of each request made in it.
func withRecall(t *testing.T, f func(*rig)) (r *rig, blocks func() []string) {
	t.Helper()
	var all []string
	r = newRig(t, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		all = append(all, turnContextOf(req))
		return llmtest.Say("ok"), nil
	})
	r.agent.Recall = 600
	r.model.Tokens = 3000
	r.setFilePolicy(func(p *compactor.Policy) { p.KeepFirst = 0 })
	if f != nil {
		f(r)
	}
	r.ask("My sister Ophelia keeps bees behind the lighthouse.")
	for i := range 60 {
		r.say(fmt.Sprintf("day %d: the weather was as it is in this season, and nothing worth a word happened in our street.", i), false)
	}
	r.waitForReplies()
	check.NoError(t, r.hub.Drain(t.Context()))
	return r, func() []string { return all }
}

func TestMessageTriggersRecall(t *testing.T) {
	r, blocks := withRecall(t, nil)
	r.run("/remember Ophelia is allergic to honey")
	r.ask("What is Ophelia allergic to?")
	block := blocks()[len(blocks())-1]
	check.Contains(t, "turn context", block, `"Ophelia is allergic to honey" (fact, said by Ada on `,
		`- #1, Ada on `, `"My sister Ophelia keeps bees behind the lighthouse."`, "as data:")
	check.Lacks(t, "turn context", block, "What is Ophelia allergic to?")
}

func TestPictureCaptionIsRecalled(t *testing.T) {
	r, blocks := withRecall(t, func(r *rig) {
		in := r.inbound("", false)
		in.Attachments = []channel.Attachment{{Kind: "image", Name: "a.png", Caption: "a walrus on a raft"}}
		r.deliverMessage(in)
	})
	r.ask("Who has a walrus?")
	check.Contains(t, "text", blocks()[len(blocks())-1], `"[image: a.png, a walrus on a raft]"`)
}

func TestVisibleMessagesAreNotRecalled(t *testing.T) {
	r := newRig(t, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		return llmtest.Say(turnContextOf(req)), nil
	})
	r.agent.Recall = 600
	r.say("My sister Ophelia keeps bees behind the lighthouse.", true)
	r.ask("What does Ophelia keep?")
	for _, text := range r.connector.texts() {
		check.Lacks(t, "turn context", text, "bees")
		check.Contains(t, "turn context", text, "time: ")
	}
}

func TestRecallBudget(t *testing.T) {
	for _, budget := range []int{0, 60, 100_000} {
		t.Run(fmt.Sprint(budget), func(t *testing.T) {
			r, blocks := withRecall(t, func(r *rig) { r.agent.Recall = budget })
			for i := range 10 {
				r.run(fmt.Sprintf("/remember Ophelia has been to town %d with her bees and %s", i, strings.Repeat("many other things ", 10)))
			}
			r.ask("Where has Ophelia been with her bees?")
			block := blocks()[len(blocks())-1]
			most := min(budget, 3000/20) + tokens.Estimate("\n<now>\ntime: 2026-01-01 00:00 UTC; context window used: 100 %\n</now>") + 5
			if cost := tokens.Estimate(block); cost > most {
				t.Errorf("budget %d: got a turn context of %d tokens, want at most %d: %s", budget, cost, most, block)
			}
			if got := strings.Contains(block, "Ophelia"); got != (budget > 0) {
				t.Errorf("got recalled: %v with a budget of %d: %s", got, budget, block)
			}
		})
	}
}

func TestRecallCommand(t *testing.T) {
	r, _ := withRecall(t, nil)
	r.run("/remember Ophelia is allergic to honey")
	out := r.run("/recall what does Ophelia keep?")
	memory, message := strings.Index(out, "fact: Ophelia is allergic to honey (Ada, "), strings.Index(out, "#1 ")
	if memory < 0 || message < memory || !strings.Contains(out, "Ada: My sister Ophelia keeps bees behind the lighthouse.") {
		t.Errorf("got answer %s", out)
	}
	check.Contains(t, "answer without a question", r.run("/recall"), "Say what to look for")
	check.Equal(t, "answer", r.run("/recall xylophone"), `I found nothing here about "xylophone".`)
	t.Run("a caption and the part of a file that matched are shown", func(t *testing.T) {
		in := r.inbound("see there", false)
		in.Attachments = []channel.Attachment{
			{Kind: "image", Name: "a.png", Caption: "a walrus on a raft"},
			{Kind: "file", Name: "b.txt", Text: strings.Repeat("It rained. ", 200) + "The vault opens with 7461. " + strings.Repeat("It rained. ", 200)},
		}
		r.deliverMessage(in)
		r.waitForReplies()
		check.Contains(t, "answer", r.run("/recall walrus"), "see there [image: a.png, a walrus on a raft]")
		if out := r.run("/recall vault"); !strings.Contains(out, "The vault opens with 7461.") || len(out) > 1200 {
			t.Errorf("got answer %s", out)
		}
	})
}
