// The mark that tells people of a compaction.

package slack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/channel"
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
	name := r.connector.place(general, "").String()
	for _, line := range []string{"/settings compaction.notify reaction", "/compact"} {
		answer, handled, err := r.hub.Run(r.t.Context(), name, channel.Person{ID: ann, Name: "ann", Manager: true}, line)
		if err != nil || !handled || strings.HasPrefix(answer.Text, "Nothing") {
			r.t.Fatalf("%s: %q, handled %v, %v", line, answer.Text, handled, err)
		}
		if answer.Then != nil {
			answer.Then(r.t.Context())
		}
		r.settled(name)
	}
	return general, newest
}

func TestACompactionIsMarkedOnTheNewestMessage(t *testing.T) {
	for name, fault := range map[string]*slacktest.Fault{
		"at once":                     nil,
		"where it has been marked so": {Method: "reactions.add", Error: "already_reacted", TakesEffect: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, quick(), answerN)
			r.opts.Working = workingOff
			r.begin()
			if fault != nil {
				r.w.Fail(*fault)
			}
			channelID, ts := r.compacted()
			r.eventually("the mark", func() bool { return len(r.reactions(channelID, ts)) > 0 })
			r.end()
			check.EqualAll(t, "the marks", r.reactions(channelID, ts), []string{summarizedReaction})
			check.Lacks(t, "the log", r.logs.String(), "was not marked", "WARN")
		})
	}
}

func TestAMissingScopeToReactIsToldOnce(t *testing.T) {
	o := quick()
	o.Scopes = slices.DeleteFunc(manifestScopes(), func(s string) bool { return s == "reactions:write" })
	r := newRig(t, o, answerN)
	r.opts.Working = workingOff
	r.begin()
	channelID, ts := r.compacted()
	r.eventually("the warning", func() bool { return strings.Contains(r.logs.String(), "reaction_refused") })
	for range 2 {
		check.Error(t, r.connector.React(t.Context(), r.connector.place(channelID, "").String(), ts), nil)
	}
	r.end()
	log := r.logs.String()
	check.Equal(t, "how often the log tells of it", strings.Count(log, "reaction_refused"), 1)
	check.Contains(t, "the log", log, "lacks the scope reactions:write: add it at")
	check.Equal(t, "how often it was tried", len(r.w.Calls("reactions.add")), 1)
	check.Len(t, "marks", r.reactions(channelID, ts), 0)
	check.Equal(t, "messages", len(r.said(channelID)), 1)
}
