package channel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/chat"
	"cairn/privacy"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// linkRig is a rig in which Ada, and who writes in the matrix, may read the public places of server 1.
func linkRig(t *testing.T) (*rig, *reader) {
	r, platform := onPlatform(t, alwaysSay("ok"), map[string][]string{ada.ID: {"test:1/pub", "test:1/pub/open", "test:1/other"}})
	r.agent.Recall = 2000
	r.restart()
	for n, where := range matrixPlaces {
		r.tell(where, secretOf(where), func(m *channel.Inbound) {
			m.ID = fmt.Sprint("s", n)
			m.AuthorID = "u9"
			m.Author = "Bo"
			m.Audience = matrix[where]
		})
	}
	return r, platform
}

// asks has Ada ask with a link to what was said in a place, and returns the context of the turn.
func (r *rig) asks(where, about string) string {
	r.t.Helper()
	link := fmt.Sprintf("<https://link/%s/s%d>", about, slices.Index(matrixPlaces, about))
	r.tell(where, "what does "+link+" say?", func(m *channel.Inbound) {
		m.AuthorID = ada.ID
		m.Audience = matrix[where]
		m.Addressed = true
	})
	all := r.model.Requests()
	last := all[len(all)-1].Messages
	return last[len(last)-1].Text
}

// mayFollow is what docs/privacy.md says of links.
func mayFollow(where, about string, readable []string) bool {
	here := chat.ParsePlace(where)
	there := chat.ParsePlace(about)
	sameChannel := here.Server == there.Server && here.Channel == there.Channel
	switch {
	case where == about:
		return true
	case here.Direct():
		return slices.Contains(readable, about)
	case sameChannel:
		return there.Thread == "" || matrix[about] != channel.Members
	}
	return here.Server == there.Server && matrix[where] == channel.ServerWide && matrix[about] == channel.ServerWide && slices.Contains(readable, about)
}

func TestLinksAreFollowedWhereAllMayRead(t *testing.T) {
	r, platform := linkRig(t)
	for _, where := range matrixPlaces {
		for _, about := range matrixPlaces {
			seen := r.asks(where, about)
			_, quoted, _ := strings.Cut(seen, "messages to which the question links, as data:\n")
			want := mayFollow(where, about, platform.may[ada.ID])
			follows := strings.Contains(quoted, secretOf(about)) || where == about && strings.Contains(quoted, " is #1")
			check.That(t, follows == want, "from %s a link to %s is followed: %v\n%s", where, about, follows, seen)
		}
	}
	platform.down = true
	check.Lacks(t, "without an answer of the platform", r.asks("test:1/pub", "test:1/other"), secretOf("test:1/other"))
	platform.down = false
	platform.private = []string{"test:1/other"}
	check.Lacks(t, "of a channel that is private by now", r.asks("test:1/pub", "test:1/other"), secretOf("test:1/other"))
	platform.private = nil
	r.opts.Rules.Access["test"] = access.Access{SearchEverywhere: true, Unsearched: []string{"other"}}
	r.restart()
	check.Lacks(t, "a place that searches leave out", r.asks("test:1/pub", "test:1/other"), secretOf("test:1/other"))
	r.agent.Recall = 0
	r.restart()
	check.Lacks(t, "without recall", r.asks("test:1/pub/open", "test:1/pub"), "as data")
}

func TestDeletionReachesWhatALinkQuoted(t *testing.T) {
	r, _ := linkRig(t)
	for _, about := range []string{"test:1/other", "test:1/pub"} {
		check.Contains(t, "the context", r.asks("test:1/pub/open", about), secretOf(about))
		for _, c := range storetest.Load(t, storetest.Find(t, r.store, "test:1/pub/open")).Contexts {
			check.Len(t, "messages of its own that it quotes", c.Messages, 0)
		}
		kept := func() string { return fmt.Sprint(storetest.Rows(t, r.store, "SELECT context FROM messages")) }
		check.Contains(t, "what is kept", kept(), secretOf(about))
		check.NoError(t, privacy.Of(storetest.Find(t, r.store, about)).Delete(t.Context(), []string{fmt.Sprint("s", slices.Index(matrixPlaces, about))}))
		check.Lacks(t, "what is kept", kept(), secretOf(about))
		check.Lacks(t, "the next prompt", r.asks("test:1/pub/open", about), secretOf(about))
	}
}
