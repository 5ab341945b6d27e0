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
	text := lastText(req)
	return text[max(strings.LastIndex(text, "\n<now>\n"), 0):]
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
	for i := range 50 {
		r.say(fmt.Sprintf("day %d: the weather was as it is in this season, and nothing worth a word happened in our street.", i), false)
	}
	r.waitForReplies()
	check.NoError(t, r.hub.Drain(t.Context()))
	return r, func() []string { return all }
}

func TestMessageTriggersRecall(t *testing.T) {
	r, blocks := withRecall(t, func(r *rig) {
		r.tell(place, "", func(m *channel.Inbound) {
			m.Attachments = []channel.Attachment{{Kind: "image", Name: "a.png", Caption: "a walrus on a raft"}}
		})
	})
	r.run("/remember Ophelia is allergic to honey")
	r.ask("What is Ophelia allergic to?")
	block := blocks()[len(blocks())-1]
	check.Contains(t, "turn context", block, `"Ophelia is allergic to honey" (fact, said by Ada on `,
		`- #2, Ada on `, `"My sister Ophelia keeps bees behind the lighthouse."`, "as data:")
	check.Lacks(t, "turn context", block, "What is Ophelia allergic to?")
	r.ask("Who has a walrus?")
	check.Contains(t, "caption", blocks()[len(blocks())-1], `"[image: a.png, a walrus on a raft]"`)
}

func TestVisibleMessagesAreNotRecalled(t *testing.T) {
	r := newRig(t, echo)
	r.agent.Recall = 600
	r.ask("My sister Ophelia keeps bees behind the lighthouse.")
	r.ask("What does Ophelia keep?")
	block := turnContextOf(r.model.Requests()[1])
	check.Contains(t, "turn context", block, "time: ")
	check.Lacks(t, "turn context", block, "bees")
}

func TestRecallBudget(t *testing.T) {
	for _, budget := range []int{0, 60, 100_000} {
		r, blocks := withRecall(t, func(r *rig) { r.agent.Recall = budget })
		for i := range 5 {
			r.run(fmt.Sprintf("/remember Ophelia has been to town %d with her bees and %s", i, strings.Repeat("many other things ", 10)))
		}
		r.ask("Where has Ophelia been with her bees?")
		block := blocks()[len(blocks())-1]
		most := min(budget, 3000/20) + tokens.Estimate("\n<now>\ntime: 2026-01-01 00:00 UTC; context window used: 100 %\n</now>") + 5
		cost := tokens.Estimate(block)
		check.That(t, cost <= most, "budget %d: got a turn context of %d tokens, want at most %d: %s", budget, cost, most, block)
		check.Equal(t, fmt.Sprintf("something is recalled with a budget of %d", budget), strings.Contains(block, "Ophelia"), budget > 0)
	}
}

func TestRecallCommand(t *testing.T) {
	r := newRig(t, echo)
	r.overhear("My sister Ophelia keeps bees behind the lighthouse.")
	r.tell(place, "see there", func(m *channel.Inbound) {
		m.Attachments = []channel.Attachment{
			{Kind: "image", Name: "a.png", Caption: "a walrus on a raft"},
			{Kind: "file", Name: "b.txt", Text: strings.Repeat("It rained. ", 200) + "The vault opens with 7461. " + strings.Repeat("It rained. ", 200)},
		}
	})
	r.run("/remember Ophelia is allergic to honey")
	_, afterMemory, _ := strings.Cut(r.run("/recall what does Ophelia keep?"), "fact: Ophelia is allergic to honey (Ada, ")
	check.Contains(t, "what follows the memory", afterMemory, "#1 ", "Ada: My sister Ophelia keeps bees behind the lighthouse.")
	r.wantAnswer("/recall", "Say what to look for")
	r.wantAnswer("/recall xylophone", `I found nothing here about "xylophone".`)
	r.wantAnswer("/recall walrus", "see there [image: a.png, a walrus on a raft]")
	matched := r.wantAnswer("/recall vault", "The vault opens with 7461.") // of a file, the part that matched
	check.That(t, len(matched) <= 1200, "got %d characters", len(matched))
}
