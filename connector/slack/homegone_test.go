// The Home tab after something that it shows was deleted, by whichever way, also if the process ended before it could say so.

package slack

import (
	"strings"
	"testing"
	"time"

	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

const textEmptied = "I have removed what was shown here."

// homeOf has a person say something, from which there is a memory, and open their Home tab.
func homeOf(t *testing.T, r *rig, channelID, person string) (ts string, v slacktest.View) {
	t.Helper()
	ts = r.w.Say(slacktest.Post{Channel: channelID, User: person, Text: "The launch is on Friday."})
	r.stored(conversation(channelID), "user: The launch is on Friday.")
	c := check.Must(r.Store.Find(t.Context(), conversation(channelID)))(t)
	draft := summarize.MemoryDraft{Kind: "fact", Content: "the launch is on Friday", Messages: []int64{1}}
	check.Must(memory.Of(c).Keep(t.Context(), memory.KeepRequest{MemoryDraft: draft, Person: "ann", PersonID: person}))(t)
	return ts, r.opened(person, "Friday")
}

// deletions change what a stopped bot has stored, as it does before it tells its connector.
var deletions = map[string]func(t *testing.T, s *store.Store, c *store.Conversation, ann, ts string) error{
	"a message is deleted": func(t *testing.T, _ *store.Store, c *store.Conversation, _, ts string) error {
		return privacy.Of(c).Delete(t.Context(), []string{ts})
	},
	"a message is edited": func(t *testing.T, _ *store.Store, c *store.Conversation, ann, ts string) error {
		m := store.Inbound{ID: ts, AuthorID: ann, Author: "ann", Text: "Never mind.", Edited: time.Now().AddDate(1, 0, 0)}
		_, _, err := privacy.Of(c).Edit(t.Context(), m)
		return err
	},
	"/forget N": func(t *testing.T, _ *store.Store, c *store.Conversation, _, _ string) error {
		return memory.Of(c).Forget(t.Context(), 1)
	},
	"/forget me": func(t *testing.T, s *store.Store, c *store.Conversation, ann, _ string) error {
		return check.ErrorOf(privacy.In(s).Erase(t.Context(), store.Person{Connector: Name, ID: ann, Name: "ann"}, c))
	},
	"/optout": func(t *testing.T, _ *store.Store, c *store.Conversation, ann, _ string) error {
		return check.ErrorOf(privacy.Of(c).OptOut(t.Context(), ann, "ann", true))
	},
	"the owner purges the channel": func(t *testing.T, _ *store.Store, c *store.Conversation, _, _ string) error {
		return privacy.Of(c).Purge(t.Context())
	},
}

// stopped changes what a bot that does not run has stored of a channel.
func (r *rig) stopped(channelID string, change func(s *store.Store, c *store.Conversation) error) {
	r.T.Helper()
	s := check.Must(store.Open(r.T.Context(), store.Options{Dir: r.Dir}))(r.T)
	check.NoError(r.T, change(s, check.Must(s.Find(r.T.Context(), conversation(channelID)))(r.T)))
	check.NoError(r.T, s.Close())
}

func TestDeletionBeforeTheProcessEndsReachesTheHomeTab(t *testing.T) {
	for claim, remove := range deletions {
		t.Run(claim, func(t *testing.T) {
			r, general, ann := homeRig(t, slacktest.Options{})
			ts, v := homeOf(t, r, general, ann)
			r.end()
			r.stopped(general, func(s *store.Store, c *store.Conversation) error { return remove(t, s, c, ann, ts) })
			r.w.Fail(slacktest.Fault{Of: "views.publish", Status: 503, Body: "<html>", Times: 3})
			r.begin()
			now := r.republished(ann, v, textEmptied)
			check.Lacks(t, "the view", now.Text(), "Friday")
			r.isSettled(ann)
		})
	}
}

// isSettled checks that a Home tab is published no more, also when the bot starts again, and stops the bot.
func (r *rig) isSettled(person string) {
	r.T.Helper()
	r.eventually("nobody sees what is gone", func() bool {
		return len(check.Must(privacy.In(r.Store).Outdated(r.T.Context(), Name))(r.T)) == 0
	})
	v, _ := r.w.Home(person)
	r.end()
	r.begin()
	r.connector.home.emptyOutdated()
	r.end()
	now, _ := r.w.Home(person)
	check.Equal(r.T, "the view later", now.Hash, v.Hash)
}

func TestDeletionsReachTheHomeTab(t *testing.T) {
	for claim, remove := range map[string]func(r *rig, general, ts string){
		"a message is deleted": func(r *rig, general, ts string) { r.w.Delete(general, ts) },
		"a message is edited":  func(r *rig, general, ts string) { r.w.Edit(general, ts, "Never mind.") },
		"another person forgets the memory": func(r *rig, general, _ string) {
			ben := r.w.AddUser("ben")
			r.w.Join(general, ben)
			r.w.Admin(ben)
			r.w.Command(general, ben, "/cairn", "forget 1")
		},
	} {
		t.Run(claim, func(t *testing.T) {
			r, general, ann := homeRig(t, slacktest.Options{})
			ts, v := homeOf(t, r, general, ann)
			remove(r, general, ts)
			now := r.republished(ann, v, textEmptied)
			check.Lacks(t, "the view", now.Text(), "Friday")
			r.isSettled(ann)
		})
	}
}

// The answer to a press may quote a memory that is forgotten and may be restored, until it is gone.
func TestAnswerInTheHomeTabGoesWithItsMemory(t *testing.T) {
	r, general, ann := homeRig(t, slacktest.Options{})
	_, v := homeOf(t, r, general, ann)
	v = r.pressed(ann, v, "memory-1", "forget", "Memory 1 is forgotten: the launch is on Friday")
	r.isSettled(ann)
	r.stopped(general, func(_ *store.Store, c *store.Conversation) error { return privacy.Of(c).Purge(t.Context()) })
	r.begin()
	check.Lacks(t, "the view", r.republished(ann, v, textEmptied).Text(), "Friday")
}

func TestTheHomeTabOfWhoIsGoneIsNotTriedForever(t *testing.T) {
	r, general, ann := homeRig(t, slacktest.Options{})
	ts, _ := homeOf(t, r, general, ann)
	r.w.Fail(slacktest.Fault{Of: "views.publish", Error: "user_not_found", Times: -1})
	r.w.Delete(general, ts)
	r.eventually("the log says so", func() bool { return strings.Contains(r.Log.String(), "publish_home_failed") })
	r.eventually("it is given up", func() bool { return len(check.Must(privacy.In(r.Store).Outdated(t.Context(), Name))(t)) == 0 })
}
