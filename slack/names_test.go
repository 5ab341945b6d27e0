// Names of people and channels.

package slack

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/slack/slacktest"
)

func TestNamesThatCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick(), answerN)
	r.hurry = func(c *times) { c.complete = time.Second }
	r.begin()
	for i, fault := range []slacktest.Fault{{Delay: time.Minute}, {Error: "user_not_found"}, {Error: "missing_scope"}} {
		r.w.Heal()
		fault.Method, fault.Times = "users.info", -1
		r.w.Fail(fault)
		general, ann := r.place()
		r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "ask <@U9> in <#" + general + ">"})
		r.answered(general, fmt.Sprint("answer ", i+1))
		m := r.messages(conversation(general))[0]
		check.Equal(t, "author", m.Author, ann)
		check.HasPrefix(t, "text", m.Text, "ask @U9 in #")
	}
}

func TestConversationsAreListedByTheirNames(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, quick(), answerN)
	r.ask(general, ann, 1)
	board := r.w.AddPrivateChannel("board", ann) // whose name is not known yet, though ann's is
	r.w.Say(slacktest.Post{Channel: board, User: ann, Text: "hello"})
	bob := r.w.AddUser("bob")
	r.w.Say(slacktest.Post{Channel: r.w.DM(bob), User: bob, Text: "hello"})
	want := []string{"#board · slacktest", "#general · slacktest", "bob"}
	r.eventually("the names", func() bool {
		var names []string
		for _, c := range check.Must(r.store.Listing(t.Context()))(t) {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		return slices.Equal(names, want)
	})
}
