// The reaction that shows that the bot works, where Slack allows fewer of them than there are answers.

package slack

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

var reactionMinute = flag.Duration("reaction-minute", 2*time.Second, "of TestManyAnswersLeaveNoReaction")

// People ask 60 questions within two minutes: Slack lets the bot remove 40 reactions.
func TestManyAnswersLeaveNoReaction(t *testing.T) {
	minute := *reactionMinute
	r, general, ann := town(t, slacktest.Options{Minute: minute}, func(ctx context.Context, n int, _ llm.Request) (llm.Response, error) {
		time.Sleep(minute / 100)
		return llmtest.Say(fmt.Sprint("answer ", n)), ctx.Err()
	})
	r.tune = func(s *Slack) { s.api.gates.window = minute + minute/60 + 100*time.Millisecond }
	r.begin()
	longest := time.Duration(0)
	left := func() (count int) {
		for _, m := range r.w.Messages(general) {
			count += len(m.Reactions)
		}
		return count
	}
	pace := time.NewTicker(minute / 30)
	defer pace.Stop()
	for n := range 60 {
		asked := time.Now()
		r.say(general, ann, n)
		r.eventually("an answer", func() bool { return len(r.botTexts(general)) > n })
		longest = max(longest, time.Since(asked))
		<-pace.C
	}
	t.Logf("the longest wait was %v; %d reactions were put, %d removed, %d are left", longest, len(r.w.Calls("reactions.add")), len(r.w.Calls("reactions.remove")), left())
	r.eventually("no reaction is left", func() bool { return left() == 0 })
	check.Equal(t, "refused requests", r.w.Limited("reactions.add")+r.w.Limited("reactions.remove"), 0)
}

func TestReactionThatSlackDoesNotRemoveNow(t *testing.T) {
	r, letGo := thinking(t)
	r.begin()
	general, ann := r.place()
	ask := func(n int) (ts string) {
		ts = r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + fmt.Sprint("question ", n)})
		r.eventually("it thinks", func() bool { return len(r.Model.Requests()) == n })
		return ts
	}
	isThere := func(ts string) bool { return slices.Contains(r.reactions(general, ts), workingEmoji) }
	first := ask(1)
	r.eventually("the reaction is there", func() bool { return isThere(first) })
	r.w.Fail(slacktest.Fault{Of: "reactions.remove", Error: "internal_error", Times: 2})
	letGo()
	r.awaitAnswers(general, 1)
	r.eventually("it is removed later", func() bool { return !isThere(first) })

	second := ask(2)
	r.eventually("the reaction is there", func() bool { return isThere(second) })
	r.w.Fail(slacktest.Fault{Of: "reactions.remove", RetryAfter: time.Minute})
	letGo()
	r.awaitAnswers(general, 2)
	r.eventually("Slack has refused to remove it", func() bool { return r.w.Seen("reactions.remove") == 4 })
	put := r.w.Seen("reactions.add")
	ask(3)
	letGo()
	r.awaitAnswers(general, 3) // without waiting for the minute
	check.Equal(t, "reactions that are put while none can be removed", r.w.Seen("reactions.add"), put)
}
