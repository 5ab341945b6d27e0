package store_test

import (
	"testing"

	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func TestWhoSeesMemoriesThatAreGone(t *testing.T) {
	c := newTalk(t)
	s := c.Store()
	deliver(t, c, asking(1, "hello"))
	first := storetest.Keep(t, c, "Ann", "Ann has a dog.").ID
	second := storetest.Keep(t, c, "Bob", "Bob has a cat.").ID
	ann := store.Person{Connector: "terminal", ID: "0", Name: "Ann"}
	bob := store.Person{Connector: "terminal", ID: "1", Name: "Bob"}
	everyone := privacy.In(s)
	add := func(who store.Person, memories, forgotten []int64) bool {
		return check.Must(everyone.AddShown(ctx, who, memories, forgotten))(t)
	}
	outdated := func(claim string, want ...string) {
		t.Helper()
		check.EqualAll(t, claim, check.Must(everyone.Outdated(ctx, "terminal"))(t), want)
	}
	check.That(t, add(ann, []int64{first, second}, nil) && add(bob, []int64{second}, nil), "they may be shown")
	outdated("nothing is gone")
	check.NoError(t, memory.Of(c).Forget(ctx, second))
	outdated("one is forgotten", "0", "1")
	check.That(t, !add(ann, []int64{second}, nil), "a forgotten memory may be shown")
	check.That(t, add(ann, []int64{first}, []int64{second}), "the answer that it is forgotten may be shown")
	check.NoError(t, everyone.KeepShown(ctx, ann, []int64{first, second}))
	outdated("Ann sees that it is forgotten", "1")
	check.NoError(t, memory.Of(c).Purge(ctx, second))
	outdated("it is gone", "0", "1")
	check.NoError(t, everyone.KeepShown(ctx, ann, []int64{first}))
	check.NoError(t, everyone.KeepShown(ctx, bob, nil))
	outdated("they see it no more")
	check.Must(privacy.Of(c).OptOut(ctx, ann.ID, ann.Name, true))(t)
	outdated("Ann has opted out", "0")
	check.That(t, add(ann, []int64{first}, nil), "her memories may be shown after that")
	outdated("she has opened the place again")
	check.EqualAll(t, "people of another connector", check.Must(everyone.Outdated(ctx, "slack"))(t), nil)
}
