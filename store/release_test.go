package store_test

import (
	"testing"
	"time"

	"cairn/store"
	"cairn/testkit/check"
)

func TestReleasedConversationIsTakenUp(t *testing.T) {
	all, _ := fleet(t, 2)
	busy, idle := all[0].claim("terminal:busy"), all[0].claim("terminal:idle")
	deliverOnly(t, busy, asking(1, "hello"))
	deliver(t, idle, said(1, "hello"))
	check.NoError(t, all[0].Release(ctx, busy))
	check.NoError(t, all[0].Release(ctx, idle))
	mine, free, err := all[1].Events(ctx)
	check.NoError(t, err)
	check.Len(t, "events of a process that owns nothing", mine, 0)
	check.EqualAll(t, "what waits to be taken up", free, []string{"terminal:busy"})
	taken := all[1].claim("terminal:busy")
	_, free, err = all[1].Events(ctx)
	check.NoError(t, err)
	check.Len(t, "what still waits", free, 0)
	check.Error(t, check.ErrorOf(busy.Inbox().Dequeue(ctx, store.All, 1000, time.Time{})), store.ErrOwned)
	check.Len(t, "messages", check.Must(taken.Inbox().Dequeue(ctx, store.All, 1000, time.Time{}))(t), 1)
	again := all[0].claim("terminal:idle")
	check.NoError(t, again.Settings().Follow(ctx, true))
	check.Error(t, idle.Settings().Follow(ctx, true), store.ErrOwned) // a handle from before the release
}

func TestGivingUp(t *testing.T) {
	all, _ := fleet(t, 2)
	deliverOnly(t, all[0].claim("terminal:general"), asking(1, "hello"))
	free := func(want int) {
		t.Helper()
		_, free, err := all[1].Events(ctx)
		check.NoError(t, err)
		check.Len(t, "what waits to be taken up", free, want)
	}
	check.NoError(t, all[1].GiveUp(ctx, "terminal:general"))
	free(0)
	all[0].Forget("terminal:general", 1) // as a release does that then fails
	check.NoError(t, all[0].GiveUp(ctx, "terminal:general"))
	free(1)
	all[1].claim("terminal:general")
}
