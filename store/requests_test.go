package store_test

import (
	"testing"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// What another process asks of an owner is done once, by the owner alone, and not if it comes too late.
func TestRequestsReachTheOwner(t *testing.T) {
	all, _ := fleet(t, 3)
	owner := all[0]
	other := all[1]
	next := all[2]
	owner.claim("discord:1/2")
	seen := check.Must(other.Conversation(ctx, "discord:1/2"))(t)
	ask := func() int64 { return check.Must(other.Requests().Ask(ctx, seen, "command", "/stop"))(t) }
	known := func(id int64) store.Response { return check.Must(other.Requests().Response(ctx, id))(t) }

	id := ask()
	check.Len(t, "what another process takes", check.Must(next.Requests().Take(ctx))(t), 0)
	check.Equal(t, "before it is taken", known(id), store.Response{})
	check.EqualAll(t, "what the owner takes", check.Must(owner.Requests().Take(ctx))(t), []store.Request{{ID: id, Conversation: "discord:1/2", Kind: "command", Body: "/stop"}})
	check.Len(t, "what the owner takes then", check.Must(owner.Requests().Take(ctx))(t), 0)
	check.NoError(t, owner.Requests().Announce(ctx, id, "soon"))
	check.Equal(t, "announced", known(id), store.Response{Taken: true, Answer: "soon"})
	check.NoError(t, owner.Requests().Conclude(ctx, id, "now"))
	check.Equal(t, "done", known(id), store.Response{Taken: true, Answer: "soon", Outcome: "now"})
	check.Equal(t, "dropping it finds it untouched", check.Must(other.Requests().Drop(ctx, id))(t), false)
	check.Error(t, check.ErrorOf(other.Requests().Response(ctx, id)), store.ErrNotFound)

	check.Equal(t, "dropping it again finds it untouched", check.Must(other.Requests().Drop(ctx, id))(t), false)
	dropped := ask()
	check.Equal(t, "dropping another finds it untouched", check.Must(other.Requests().Drop(ctx, dropped))(t), true)
	late := ask()
	storetest.Run(t, owner.Store, "UPDATE requests SET asked_at = asked_at - 31000 WHERE id = $1", late)
	check.Len(t, "what the owner takes of these", check.Must(owner.Requests().Take(ctx))(t), 0)

	lost := ask()
	check.Len(t, "taken by the owner that ends", check.Must(owner.Requests().Take(ctx))(t), 1)
	left := ask()
	owner.dies()
	next.endsOthers(1)
	check.Equal(t, "the one that it took", known(lost), store.Response{Taken: true, Lost: true})
	next.claim("discord:1/2")
	taken := check.Must(next.Requests().Take(ctx))(t)
	check.Len(t, "taken by the next owner", taken, 1)
	check.Equal(t, "that is", taken[0].ID, left)
	other.dies()
	next.endsOthers(1)
	check.Len(t, "requests of a process that has ended", storetest.Column[int64](t, next.Store, "SELECT id FROM requests"), 0)
}
