package channel_test

import (
	"context"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestWhatWasSummarizedBeforeNewIsListed(t *testing.T) {
	r := newRig(t, echo)
	r.chat(20)
	r.run("/new")
	r.idle()
	noError(t, r.hub.Drain(t.Context()))
	list := r.run("/summaries")
	if !strings.HasPrefix(list, "Nothing has been summarized since the last /new. From before, oldest first:\n(2) leaf, level 0: #1 to #20, ") {
		t.Errorf("/summaries says %q", list)
	}
	expect(t, "/expand says", strings.Count(r.run("/expand 2"), "\n#"), 20)
	r.run("/new") // no messages yet, so nothing changes
	r.idle()
	expect(t, "/summaries says", r.run("/summaries"), list)
}

func TestARecapTellsOfWhatStandsAboveTheSession(t *testing.T) {
	r := summedUp(t)
	var asked string
	r.agent.Worker.(*llmtest.Model).Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Tools) > 0 {
			return sumUp(ctx, n, req)
		}
		asked = textOf(req)
		return llmtest.Say("You keep a parrot."), nil
	}
	recap := func(place string) string {
		t.Helper()
		answer, _, err := r.hub.Run(t.Context(), place, channel.Person{ID: "u7"}, "/recap")
		if err != nil || answer.Then == nil {
			t.Fatalf("%+v, %v", answer, err)
		}
		return answer.Then(t.Context())
	}
	r.inThread("and how old is it?")
	if got := recap(branch); got != "You keep a parrot." || !strings.Contains(asked, "Coco is a parrot, word by word.") || !strings.Contains(asked, "how old is it?") {
		t.Errorf("in a thread it says %q of\n%s", got, asked)
	}
	r.run("/new")
	r.idle()
	noError(t, r.hub.Drain(t.Context()))
	if got := recap(place); got != "You keep a parrot." || !strings.Contains(asked, "Coco is a parrot, word by word.") {
		t.Errorf("after /new it says %q of\n%s", got, asked)
	}
	r.run("/pause everywhere") // no model runs
	contains(t, "in a thread, without a model, it says", recap(branch), "Coco")
}
