// The mark that tells people of a compaction.

package slack

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

func (r *rig) marks(channelID, ts string) (names []string) {
	for _, m := range r.w.Messages(channelID) {
		for _, reaction := range m.Reactions {
			if m.TS != ts || reaction.User != slacktest.BotUserID {
				r.t.Errorf("%s has reacted to %q", reaction.User, m.Text)
			}
			names = append(names, reaction.Name)
		}
	}
	return names
}

func TestACompactionIsMarkedOnTheNewestMessage(t *testing.T) {
	for name, fault := range map[string]*slacktest.Fault{
		"at once":                     nil,
		"after a rate limit":          {Method: reactMethod, RetryAfter: time.Second},
		"where it has been marked so": {Method: reactMethod, Error: "already_reacted", TakesEffect: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, quick(), answerN)
			r.opts.Working = workingOff
			r.begin()
			if fault != nil {
				r.w.Fail(*fault)
			}
			channelID, ts := r.compacted()
			r.eventually("the mark", func() bool { return len(r.marks(channelID, ts)) > 0 })
			r.end()
			if got := r.marks(channelID, ts); !slices.Equal(got, []string{summarizedReaction}) {
				t.Errorf("the marks are %q", got)
			}
			if log := r.logs.String(); strings.Contains(log, "was not marked") || strings.Contains(log, "WARN") {
				t.Errorf("the log says\n%s", log)
			}
		})
	}
}

func TestAMissingScopeToReactIsToldOnce(t *testing.T) {
	o := quick()
	o.Scopes = slices.DeleteFunc(manifest(t).OAuth.Scopes.Bot, func(s string) bool { return s == "reactions:write" })
	r := newRig(t, o, answerN)
	r.opts.Working = workingOff
	r.begin()
	channelID, ts := r.compacted()
	r.eventually("the warning", func() bool { return strings.Contains(r.logs.String(), "reaction_refused") })
	for range 2 {
		if err := r.connector.React(t.Context(), r.connector.place(channelID, "").String(), ts); err != nil {
			t.Error(err)
		}
	}
	r.end()
	log := r.logs.String()
	if n := strings.Count(log, "reaction_refused"); n != 1 || !strings.Contains(log, "lacks the scope reactions:write: add it at") {
		t.Errorf("it is told %d times:\n%s", n, log)
	}
	check.Equal(t, "how often it was tried", len(r.w.Calls(reactMethod)), 1)
	if len(r.marks(channelID, ts)) > 0 || len(r.said(channelID)) != 1 {
		t.Error("something is shown all the same")
	}
}
