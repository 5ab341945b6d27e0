// The mark that tells people of a compaction.

package slack

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/slack/slacktest"
)

// compacted is a channel in which a compaction was shown by a mark, and the newest
// message there.
func (r *rig) compacted() (channelID, newest string) {
	r.t.Helper()
	general, ann := r.place()
	for i := range 12 {
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: fmt.Sprintf("message %d %s", i, strings.Repeat("the quick brown fox ", 20))})
	}
	newest = r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"})
	r.awaitAnswers(general, 1)
	for _, line := range []string{"/settings compaction.notify reaction", "/compact"} {
		if answer := r.run(general, ann, line); answer.Then != nil {
			answer.Then(r.t.Context())
		}
		r.settled(conversation(general))
	}
	return general, newest
}

func TestACompactionIsMarkedOnTheNewestMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick(), answerN)
	r.opts.Working = workingOff
	r.begin()
	channelID, ts := r.compacted()
	r.eventually("the mark", func() bool { return len(r.reactions(channelID, ts)) > 0 })
	check.Error(t, r.connector.React(t.Context(), conversation(channelID), ts), nil) // where it has been marked so
	r.end()
	check.EqualAll(t, "the marks", r.reactions(channelID, ts), []string{summarizedReaction})
	check.Lacks(t, "the log", r.logs.String(), "was not marked", "WARN")
}

func TestAMissingScopeToReactIsToldOnce(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Scopes = without("reactions:write")
	r := newRig(t, o, nil)
	r.begin()
	q := r.question(false)
	for range 3 {
		check.Error(t, r.connector.React(t.Context(), q.name, q.to[0]), nil)
	}
	check.Equal(t, "how often the log tells of it", strings.Count(r.logs.String(), "reaction_refused"), 1)
	check.Contains(t, "the log", r.logs.String(), "lacks the scope reactions:write: add it at")
	check.Equal(t, "how often it was tried", len(r.w.Calls("reactions.add")), 1)
}
